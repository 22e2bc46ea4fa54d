class ToolParserManager:
    @staticmethod
    def list_registered() -> list[str]:
        return ["careful", "particular"]

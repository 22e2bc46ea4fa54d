class ReasoningParserManager:
    @staticmethod
    def list_registered() -> list[str]:
        return ["tags"]

from autoparser.analysis.history.history_renders import (
    BridgeRefusal as BridgeRefusal,
    RefusalReason as RefusalReason,
)
from autoparser.analysis.history.prompt_tokens import (
    RenderedTokens as RenderedTokens,
)
from autoparser.analysis.history.turn_response import (
    CallTokens as CallTokens,
    TrainingSample as TrainingSample,
    TrajectoryStep as TrajectoryStep,
)

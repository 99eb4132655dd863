"""How queries with a deadline are served, as a pipeline file gives it."""

from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

from headgate.control.deadlines.profiles import names
from headgate.engine.pipeline.spec import ShortSpec
from headgate.engine.served import Deadlines
from headgate.fields import choice, number


class DeadlinesSpec(ShortSpec):
    """How queries with a deadline are served."""

    noun = "'deadlines'"
    example = "{profile: lrm+, share: 0.9}"
    main = "profile"
    profile: Annotated[str, BeforeValidator(choice("profile", names())), WithJsonSchema({"enum": list(names())})] = (
        Field("lrm+", description="Who goes first, and whether windows are thinned so that deadlines are met.")
    )
    share: Annotated[float, Field(gt=0, le=1), BeforeValidator(number(above=0, such_as=0.9))] = Field(
        0.9, description="The part of a lane's time that they may have; the rest is for other queries."
    )

    def made(self) -> Deadlines:
        """As an engine takes it."""
        return Deadlines(self.profile, self.share)

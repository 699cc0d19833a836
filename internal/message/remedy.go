package message

// Values of an error by which there is something else to do about it than its code
// says.
const (
	// ValueOutcome is "unknown" for a call that may have taken effect.
	ValueOutcome = "outcome"
	// ValueLimitedBy is "caller" for a time limit that the caller has set itself.
	ValueLimitedBy = "limited_by"
)

// remedy is what there is to do about an error with these values in place of what
// its code says, as doing that could repeat an effect, or be of no use. It is false
// if the code says it well.
func remedy(lang Lang, code Code, args Args) (string, bool) {
	said := struct{ en, zh string }{}
	switch {
	case code == OutcomeUnknown || code == HubLost:
		return "", false // they are about that
	case args[ValueOutcome] == "unknown":
		said.en, said.zh = "It may have taken effect: check before you repeat it.", "调用可能已经生效，重复调用前请先核实。"
	case code == Timeout && args[ValueLimitedBy] == "caller":
		said.en, said.zh = "Try again if it does no harm twice, or give the call more time.", "如重复执行无害请重试，或给这次调用更多时间。"
	default:
		return "", false
	}
	if lang == Chinese {
		return said.zh, true
	}
	return said.en, true
}

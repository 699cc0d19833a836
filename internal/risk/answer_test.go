package risk_test

import (
	"encoding/json"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/risk"
)

// What is answered decides whether answering changes something.
func TestAnswers(t *testing.T) {
	for _, test := range []struct {
		name, description string
		most, least       hub.Risk
	}{
		{"ask_docs", "Answers questions about the documentation.", hub.RiskMedium, hub.RiskLow},
		{"knowledge", "Answers a question from the knowledge base.", hub.RiskMedium, hub.RiskLow},
		{"faq", "Looks up answers in the FAQ", hub.RiskMedium, hub.RiskLow},
		{"get_answers", "Returns the answers of a survey.", hub.RiskMedium, hub.RiskLow},
		{"answer_question", "Answer a question with the help of the index", hub.RiskMedium, hub.RiskLow},
		{"answer_call", "Takes the call", hub.RiskCritical, hub.RiskHigh},
		{"phone", "Answers an incoming phone call.", hub.RiskCritical, hub.RiskHigh},
		{"desk", "Answer the customer's ticket", hub.RiskCritical, hub.RiskHigh},
		{"mailer", "Answers emails and deletes them", hub.RiskCritical, hub.RiskHigh},
	} {
		raw, err := json.Marshal(map[string]any{"name": test.name, "description": test.description})
		if err != nil {
			t.Fatal(err)
		}
		if got := risk.Describe(risk.Description{Name: test.name, Raw: raw}).Risk(); got < test.least || got > test.most {
			t.Errorf("%s, %q: %s", test.name, test.description, got)
		}
	}
}

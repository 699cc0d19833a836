package builtin

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const calculatorDescription = `Evaluates an arithmetic expression and returns the number. Use it for any calculation instead of working it out yourself.

Operators: + - * / % (remainder, with the sign of the left side) ^ or ** (power; -2^2 is -4) and parentheses. Multiplication is always written: 2*pi, not 2pi. Numbers have no thousands separators: 1000000, 0.25, 1.5e-3.
Functions: abs(x) ceil(x) floor(x) round(x) round(x, digits) sqrt(x) pow(x, y) min(x, ...) max(x, ...) exp(x) ln(x) log10(x) log(x) (natural, the same as ln) log(x, base) sin cos tan asin acos atan (in radians). Constants: pi, e.

Whole numbers, decimals and fractions are calculated exactly: 0.1+0.2 is 0.3 and 2^64+1 has all its digits. Results that have no finite decimal form, such as 1/3, sqrt(2) or sin(1), are rounded to 15 significant digits, and "exact" is then false.`

// calculatorOutput is the schema of calculation. The SDK decodes what a tool
// returns into floating point and encodes it again, as many clients do. So a
// result that a double does not hold is a string: it is never rounded unsaid.
const calculatorOutput = `{
	"type": "object",
	"properties": {
		"expression": {"type": "string", "description": "the expression as it was given"},
		"result": {"type": ["number", "string"], "description": "a number, or a string with all digits if a double-precision number cannot hold them"},
		"exact": {"type": "boolean", "description": "false if the result is rounded to 15 significant digits"}
	},
	"required": ["expression", "result", "exact"]
}`

type calculatorArgs struct {
	Expression string `json:"expression" jsonschema:"the expression, such as (1+2)*3 or sqrt(2)/2; at most 1000 characters"`
}

type calculation struct {
	Expression string `json:"expression"`
	Result     any    `json:"result"` // a float64, or a string
	Exact      bool   `json:"exact"`
}

func (*Builtins) addCalculator(s *mcp.Server, _ map[string]string) {
	tool := &mcp.Tool{
		Name:         "calculator",
		Title:        "Calculator",
		Description:  calculatorDescription,
		OutputSchema: json.RawMessage(calculatorOutput),
		Annotations:  readOnly(),
	}
	mcp.AddTool(s, tool, func(_ context.Context, _ *mcp.CallToolRequest, args calculatorArgs) (*mcp.CallToolResult, calculation, error) {
		n, err := evaluate(args.Expression)
		if err != nil {
			return nil, calculation{}, err
		}
		digits, exact := n.format()
		c := calculation{Expression: args.Expression, Result: digits, Exact: exact}
		if f, ok := asDouble(digits); ok {
			c.Result = f
		}
		return text(digits), c, nil
	})
}

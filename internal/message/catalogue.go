package message

import "maps"

// texts is what is said for some codes.
type texts map[Code]struct{ en, zh Text }

// catalogue has the texts of all codes. Each code is documented by them.
var catalogue = assemble(oauthTexts, callTexts, limitTexts, routeTexts, serverTexts, lifeTexts, viewTexts, requestTexts, startTexts, configTexts, controlTexts, clientTexts, storeTexts, stateTexts, auditTexts, judgeTexts, approvalTexts, identityTexts, deviceTexts, endpointTexts, backendTexts)

func assemble(parts ...texts) texts {
	all := make(texts)
	for _, p := range parts {
		maps.Copy(all, p)
	}
	return all
}

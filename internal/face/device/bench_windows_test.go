package device_test

import "time"

// processor is not told here.
func processor() time.Duration { return 0 }

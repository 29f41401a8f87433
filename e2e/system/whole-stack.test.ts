import { afterAll, beforeAll } from 'vitest'
import { describeConfidentialValues } from './confidential-values.ts'
import { describeGateway } from './gateway.ts'
import { describeJourney } from './journey.ts'
import { describeLeastPrivilege } from './least-privilege.ts'
import { describeNodeLimits } from './node-limits.ts'
import { describeOneAway } from './one-away.ts'
import { openSystem, type System } from './open-system.ts'
import { describeRace } from './race.ts'
import { describeRevocation } from './revocation.ts'
import { describeSlowClients } from './slow-clients.ts'
import { describeSmuggling } from './smuggling.ts'

const resources = new AsyncDisposableStack()
let system: System
beforeAll(async () => {
  system = resources.use(await openSystem())
})
afterAll(() => resources.disposeAsync())
const getSystem = () => system

// The order matters. `describeOneAway` stops processes, so it comes after the other tests of the service. The last tests search for the
// confidential values that all others used.
describeJourney(getSystem)
describeGateway(getSystem)
describeRace(getSystem)
describeLeastPrivilege(getSystem)
describeSmuggling(getSystem)
describeNodeLimits(getSystem)
describeSlowClients(getSystem)
describeRevocation(getSystem)
describeOneAway(getSystem)
describeConfidentialValues(getSystem)

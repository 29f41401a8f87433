import { afterAll, beforeAll } from 'vitest'
import { describeConfidentialValues } from './confidential-values.ts'
import { describeGateway } from './gateway.ts'
import { describeJourney } from './journey.ts'
import { describeLeastPrivilege } from './least-privilege.ts'
import { openSystem, type System } from './open-system.ts'
import { describeRevocation } from './revocation.ts'
import { describeServerLimits } from './server-limits.ts'
import { describeSimultaneousRequests } from './simultaneous-requests.ts'
import { describeSlowClients } from './slow-clients.ts'
import { describeSmuggling } from './smuggling.ts'
import { describeStoppedProcesses } from './stopped-processes.ts'

const resources = new AsyncDisposableStack()
let system: System
beforeAll(async () => {
  system = resources.use(await openSystem())
})
afterAll(() => resources.disposeAsync())
const getSystem = () => system

// The order matters. `describeStoppedProcesses` stops processes, so it comes after the other tests of the service. The last tests search for the
// confidential values that all others used.
describeJourney(getSystem)
describeGateway(getSystem)
describeSimultaneousRequests(getSystem)
describeLeastPrivilege(getSystem)
describeSmuggling(getSystem)
describeServerLimits(getSystem)
describeSlowClients(getSystem)
describeRevocation(getSystem)
describeStoppedProcesses(getSystem)
describeConfidentialValues(getSystem)

import { afterAll, beforeAll } from 'vitest'
import { describeCanaries } from './canaries.ts'
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
const running = () => system

// The order matters: the last test searches for the confidential values of all others.
describeJourney(running)
describeGateway(running)
describeRace(running)
describeLeastPrivilege(running)
describeSmuggling(running)
describeNodeLimits(running)
describeSlowClients(running)
describeRevocation(running)
describeOneAway(running)
describeCanaries(running)

import { afterAll, beforeAll } from 'vitest'
import { describeJourney } from '../system/journey.ts'
import { openSystem, type System } from '../system/open-system.ts'
import { describeRevocation } from '../system/revocation.ts'
import { startPooler } from './start-pooler.ts'

/* Runs the tests of an agent's life cycle and of revocation with PgBouncer, in transaction mode, between the apps and PostgreSQL. */

const resources = new AsyncDisposableStack()
let system: System
beforeAll(async () => {
  system = resources.use(
    await openSystem({
      async redirectStores(stores, folder) {
        const pooler = await startPooler(stores, folder)
        resources.use(pooler.process)
        return pooler.addresses
      },
    }),
  )
})
afterAll(() => resources.disposeAsync())
const getSystem = () => system

describeJourney(getSystem)
describeRevocation(getSystem)

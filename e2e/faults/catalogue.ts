import { AUTH_FAULTS } from './auth-faults.ts'
import { DISK_FAULTS } from './disk-faults.ts'
import { DOCUMENT_FAULTS } from './document-faults.ts'
import { createFailoverFault } from './failover-fault.ts'
import type { FaultCase } from './fault-case.ts'
import { KEY_FAULTS } from './key-faults.ts'
import { MACHINE_FAULTS } from './machine-faults.ts'
import { MAIL_FAULTS } from './mail-faults.ts'
import { POSTGRES_FAULTS } from './postgres-faults.ts'
import { PROCESS_FAULTS } from './process-faults.ts'
import { REDIS_FAULTS } from './redis-faults.ts'
import { createRedisLoadingFault } from './redis-loading-fault.ts'
import { createRepeatedDeliveryFault } from './repeated-delivery-fault.ts'
import { RESTART_FAULTS } from './restart-faults.ts'
import { SESSION_FAULTS } from './session-faults.ts'
import { STALL_FAULTS } from './stall-faults.ts'
import { createStampedeFault } from './stampede-fault.ts'

/** All faults that `npm run faults` can inject. */
export const FAULTS: readonly FaultCase[] = [
  ...POSTGRES_FAULTS,
  ...SESSION_FAULTS,
  ...DISK_FAULTS,
  createFailoverFault(),
  ...REDIS_FAULTS,
  createRedisLoadingFault(),
  ...AUTH_FAULTS,
  ...PROCESS_FAULTS,
  ...STALL_FAULTS,
  ...MACHINE_FAULTS,
  ...KEY_FAULTS,
  ...MAIL_FAULTS,
  ...DOCUMENT_FAULTS,
  ...RESTART_FAULTS,
  createRepeatedDeliveryFault(),
  createStampedeFault(),
]

/** The faults that `npm run test:system` injects as well: all but the manual ones. */
export const FAULTS_IN_CI: readonly FaultCase[] = FAULTS.filter(({ isManual }) => isManual !== true)

import { AUTH_FAULTS } from './auth-faults.ts'
import type { FaultCase } from './fault-case.ts'
import { POSTGRES_FAULTS } from './postgres-faults.ts'
import { REDIS_FAULTS } from './redis-faults.ts'

export const FAULTS: readonly FaultCase[] = [...POSTGRES_FAULTS, ...REDIS_FAULTS, ...AUTH_FAULTS]

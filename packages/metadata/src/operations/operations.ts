import { deleteAgent, getAgent, registerAgent } from './agents.ts'
import { getGuide, listGuides } from './guides.ts'
import { getHealth } from './health.ts'
import { createToken, revokeToken } from './oauth.ts'
import type { Operation } from './operation.ts'
import { joinWaitlist } from './waitlist.ts'

/** Every public operation of both apps, in the order of the API description. */
export const operations = {
  listGuides,
  getGuide,
  joinWaitlist,
  registerAgent,
  getAgent,
  deleteAgent,
  createToken,
  revokeToken,
  getHealth,
}

/** The same with their types forgotten. */
export const OPERATIONS: readonly Operation[] = Object.values(operations)

import {
  createAgentSecret,
  deleteAgent,
  deleteAgentSecret,
  getAgent,
  registerAgent,
  replaceAgentKeys,
} from './agents.ts'
import { createAssertion } from './assertions.ts'
import { beginClaim, completeClaim, endClaim } from './claims.ts'
import { deleteContactMessage, getContactMessage, sendContactMessage } from './contact.ts'
import { getGuide, listGuides } from './guides.ts'
import { getHealth } from './health.ts'
import { createToken, revokeToken } from './oauth.ts'
import type { Operation } from './operation.ts'
import { forgetWaitlist, joinWaitlist } from './waitlist.ts'

/** Every operation of both apps, in the order of the API description. */
export const operations = {
  listGuides,
  getGuide,
  joinWaitlist,
  forgetWaitlist,
  sendContactMessage,
  getContactMessage,
  deleteContactMessage,
  registerAgent,
  getAgent,
  deleteAgent,
  replaceAgentKeys,
  createAgentSecret,
  deleteAgentSecret,
  beginClaim,
  completeClaim,
  endClaim,
  createAssertion,
  createToken,
  revokeToken,
  getHealth,
}

/** The same, with their types forgotten. */
export const OPERATIONS: readonly Operation[] = Object.values(operations)

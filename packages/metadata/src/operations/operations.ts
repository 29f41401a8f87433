import { Health } from '@plainpath/domain'
import { API_VERSION } from '../service-urls.ts'
import {
  createAgentSecret,
  deleteAgent,
  deleteAgentSecret,
  deleteDpopRequiredScopes,
  getAgent,
  registerAgent,
  replaceAgentKeys,
} from './agents.ts'
import { answerQuestion, listTriggers } from './answers.ts'
import { beginClaim, completeClaim, createAssertion, endClaim } from './claims.ts'
import { deleteContactMessage, getContactMessage, sendContactMessage } from './contact.ts'
import { getGuide, listGuides } from './guides.ts'
import { createToken, revokeToken } from './oauth.ts'
import { defineOperation, type Operation } from './operation.ts'
import { forgetWaitlist, joinWaitlist } from './waitlist.ts'

const getHealth = defineOperation({
  method: 'get',
  path: '/api/health',
  operationId: 'getHealth',
  tag: 'Health',
  summary: 'Health check for monitoring',
  description:
    'Returns 200 while guides can be read. The status `degraded` means that something that other operations need does not work.',
  access: 'open',
  responses: { 200: Health },
  responseDocs: {
    200: {
      description: 'Guides can be read.',
      example: () => ({
        status: 'ok',
        version: API_VERSION,
        checks: { database: 'ok', auth: 'ok' },
        answers: { status: 'ok', withdrawnSections: [], disabledTriggers: [] },
      }),
    },
  },
})

/**
 * All operations in the API description, of both apps. The names are the published operation ids. The description has the paths
 * in the order in which their first operations are listed here.
 */
export const operations = {
  listGuides,
  getGuide,
  answerQuestion,
  listTriggers,
  joinWaitlist,
  forgetWaitlist,
  sendContactMessage,
  getContactMessage,
  deleteContactMessage,
  registerAgent,
  getAgent,
  deleteAgent,
  replaceAgentKeys,
  deleteDpopRequiredScopes,
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

/** The same operations for code that treats them all alike. The list does not keep the types of their schemas. */
export const OPERATION_LIST: readonly Operation[] = Object.values(operations)

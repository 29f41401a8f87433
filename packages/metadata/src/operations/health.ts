import { Health } from '@plainpath/domain'
import { API_VERSION } from '../api-version.ts'
import { defineOperation } from './operation.ts'

export const getHealth = defineOperation({
  method: 'get',
  path: '/api/health',
  operationId: 'getHealth',
  tag: 'Health',
  summary: 'Health check for monitoring',
  description:
    'Answers 200 as long as guides can be read, `degraded` when a part that other operations need does not work.',
  access: 'open',
  errors: 'problem',
  responses: { 200: Health },
  outcomes: {
    200: {
      description: 'The service is healthy.',
      example: () => ({
        status: 'ok',
        version: API_VERSION,
        checks: { database: 'ok', auth: 'ok' },
      }),
    },
  },
})

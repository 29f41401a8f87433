import { defineRoute, type Route } from '@plainpath/http'
import { operations } from '@plainpath/metadata'
import type { GuideCatalog } from '../guides/guide-catalog.ts'
import { LIMITS } from '../limits.ts'
import type { AnswerService } from './answer-service.ts'

export interface AnswerDeps {
  readonly answers: AnswerService
  readonly guides: { current(): GuideCatalog }
}

/** Creates the routes that answer a question and list the enabled triggers. */
export function createAnswerRoutes({ answers, guides }: AnswerDeps): Route[] {
  const { answerQuestion, listTriggers } = operations
  const answerRoute = defineRoute({
    ...answerQuestion,
    limits: LIMITS.reads,
    handle: ({ body, query }) => ({
      status: 200,
      body: answers.answer(body, { explain: query.explain === 'true' }),
    }),
  })
  const triggersRoute = defineRoute({
    ...listTriggers,
    limits: LIMITS.reads,
    handle: () => ({ status: 200, prepared: answers.getTriggerList(guides.current()) }),
  })
  return [answerRoute, triggersRoute]
}

import type { Caller, RequestFacts } from '@plainpath/http'
import { type MCP_TOOLS, type McpToolName, MOST_TOOL_RESULTS } from '@plainpath/metadata'
import type { z } from 'zod'
import { answerAsText } from '../answers/answer-as-text.ts'
import type { AnswerService } from '../answers/answer-service.ts'
import { requireContactScope } from '../auth/bearer.ts'
import type { OwnMessages } from '../contact/own-messages.ts'
import type { SendMessage } from '../contact/send-message.ts'
import { guideDocument, guideMarkdown, guideVersion } from '../guides/guide-answers.ts'
import type { GuideDeps } from '../guides/guide-routes.ts'
import { LIMITS } from '../limits.ts'
import { answerJoin, type JoinWaitlist } from '../waitlist/join-waitlist.ts'

export interface ToolDeps extends Omit<GuideDeps, 'forms'> {
  readonly answers: AnswerService
  readonly joinWaitlist: JoinWaitlist
  readonly sendMessage: SendMessage
  readonly ownMessages: OwnMessages
}

/** What a tool answers; a model reads `text`, or the value as JSON where there is none. */
export interface ToolAnswer {
  readonly value: object
  readonly text?: string
}

/** The request that carries the call of a tool. */
export interface ToolRequest {
  readonly request: RequestFacts
  /** Undefined without a token. */
  readonly caller?: Caller | undefined
}

/** @throws {Problem} as the route that does the same */
export type Tools = {
  readonly [Name in McpToolName]: (
    input: z.output<(typeof MCP_TOOLS)[Name]['inputSchema']>,
    by: ToolRequest,
  ) => Promise<ToolAnswer> | ToolAnswer
}

/** The tools, over the same functions as the routes. */
export function mcpTools(deps: ToolDeps): Tools {
  const { guides, lister, urls } = deps
  const joinAs = answerJoin(deps)
  const place = { urls, address: urls.guide, unknown: 'No guide has this slug. list_guides lists them.' }
  return {
    list_guides: (asked) => ({ value: lister.page(guides.current(), asked) }),
    search_guides: ({ query, limit }) => ({
      value: { guides: lister.search(guides.current(), query, limit ?? MOST_TOOL_RESULTS) },
    }),
    answer_question(asked) {
      const answer = deps.answers.answer(asked)
      return { value: answer, text: answerAsText(answer) }
    },
    async get_guide(asked) {
      const guide = await guideVersion(deps, asked, place)
      return { value: guideDocument(guide, urls), text: guideMarkdown(guide, urls) }
    },
    async join_waitlist(asked, { request }) {
      for (const policy of LIMITS.waitlist.address) await request.takeForAddress(policy)
      return { value: await joinAs(asked, request) }
    },
    async send_contact_message(asked, { request, caller }) {
      requireContactScope(caller, urls)
      return { value: await deps.sendMessage(asked, request) }
    },
    async get_contact_message({ id }, { caller }) {
      return { value: await deps.ownMessages.read(id, requireContactScope(caller, urls)) }
    },
    async withdraw_contact_message({ id }, { caller }) {
      await deps.ownMessages.withdraw(id, requireContactScope(caller, urls))
      return { value: { id, status: 'erased' } }
    },
  }
}

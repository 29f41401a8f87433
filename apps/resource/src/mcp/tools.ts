import { ALL_HELP, helpLine } from '@plainpath/domain'
import type { Caller, RequestFacts } from '@plainpath/http'
import { type MCP_TOOLS, type McpToolName, MOST_TOOL_RESULTS } from '@plainpath/metadata'
import { PREPARE_FOR_ATTORNEY } from '@plainpath/pages'
import type { z } from 'zod'
import { answerAsText } from '../answers/answer-as-text.ts'
import type { AnswerService } from '../answers/answer-service.ts'
import { requireContactScope } from '../auth/bearer.ts'
import type { OwnMessages } from '../contact/own-messages.ts'
import type { SendMessage } from '../contact/send-message.ts'
import { guideDocument, guideMarkdown, guideVersion } from '../guides/guide-responses.ts'
import type { GuideDeps } from '../guides/guide-routes.ts'
import { LIMITS } from '../limits.ts'
import { type JoinWaitlist, joinForPrograms } from '../waitlist/join-waitlist.ts'
import { type CheckForm, checkForm, readFacts } from './check-form.ts'

export interface ToolDeps extends Omit<GuideDeps, 'forms'> {
  readonly answers: AnswerService
  readonly joinWaitlist: JoinWaitlist
  readonly sendMessage: SendMessage
  readonly ownMessages: OwnMessages
}

/** The output of a tool. The model reads `text`; without it, the value as JSON. */
export interface ToolOutput {
  readonly value: object
  readonly text?: string
}

/** What a tool wants the person to fill in before it has an output. */
interface ToolForm {
  readonly form: CheckForm
}

/** The request that carries the call of a tool. */
export interface ToolRequest {
  readonly request: RequestFacts
  /** Undefined without a token. */
  readonly caller?: Caller | undefined
}

/** The call of a tool. */
export interface ToolCall extends ToolRequest {
  /** Whether the client can show a form in response. */
  readonly showsForms: boolean
  /** The form that came back with the call, if it is authentic: the questions that it had, and the response. */
  readonly filledIn?: { readonly asked: readonly string[]; readonly response: unknown } | undefined
}

/** The functions of the tools. Each throws the same problems as the route with the same function. */
export type Tools = {
  readonly [Name in McpToolName]: (
    input: z.output<(typeof MCP_TOOLS)[Name]['inputSchema']>,
    by: ToolCall,
  ) => Promise<ToolOutput> | ToolOutput | ToolForm
}

/** Creates the tools from the functions that the routes use. */
export function mcpTools(deps: ToolDeps): Tools {
  const { guides, lister, urls } = deps
  const joinAs = joinForPrograms(deps)
  const place = { urls, address: urls.guide, unknown: 'No guide has this slug. list_guides lists them.' }
  return {
    list_guides: (input) => ({ value: lister.page(guides.current(), input) }),
    search_guides: ({ query, limit }) => ({
      value: { guides: lister.search(guides.current(), query, limit ?? MOST_TOOL_RESULTS) },
    }),
    answer_question(input, { showsForms, filledIn }) {
      const given = filledIn && readFacts(filledIn.response, filledIn.asked)
      const answer = deps.answers.answer({ ...input, facts: { ...input.facts, ...given } })
      const form = showsForms && !filledIn ? checkForm(answer, urls.ask) : undefined
      if (form) return { form }
      return { value: answer, text: answerAsText(answer, showsForms ? { askPage: urls.ask } : {}) }
    },
    async get_guide(input) {
      const guide = await guideVersion(deps, input, place)
      return { value: guideDocument(guide, urls), text: guideMarkdown(guide, urls) }
    },
    get_help: () => ({
      value: { help: ALL_HELP, prepare: PREPARE_FOR_ATTORNEY, page: urls.getHelp },
      text: [
        'Get help:',
        ...ALL_HELP.map((help) => `- ${helpLine(help)}`),
        'Before you talk to an attorney, prepare:',
        ...PREPARE_FOR_ATTORNEY.map((paper) => `- ${paper}`),
        `More, also in Spanish: ${urls.getHelp}`,
      ].join('\n'),
    }),
    async join_waitlist(input, { request }) {
      for (const policy of LIMITS.waitlist.address) await request.takeForAddress(policy)
      return { value: await joinAs(input, request) }
    },
    async send_contact_message(input, { request, caller }) {
      const by = { request, caller: requireContactScope(caller, urls) }
      return { value: await deps.sendMessage(input, by) }
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

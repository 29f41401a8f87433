import { ALL_HELP, formatHelpLine } from '@plainpath/domain'
import type { Caller, RequestFacts } from '@plainpath/http'
import { MAX_GUIDES_PER_TOOL_SEARCH, type MCP_TOOLS, type McpToolName } from '@plainpath/metadata'
import { PREPARE_FOR_ATTORNEY } from '@plainpath/pages'
import type { z } from 'zod'
import type { AnswerService } from '../answers/answer-service.ts'
import { formatAnswer } from '../answers/format-answer.ts'
import { requireContactScope } from '../auth/verified-person.ts'
import type { OwnMessages } from '../contact/own-messages.ts'
import type { SendMessage } from '../contact/send-message.ts'
import { formatGuideAsMarkdown, requireGuideVersion, toGuideDocument } from '../guides/guide-responses.ts'
import type { GuideDeps } from '../guides/guide-routes.ts'
import { LIMITS } from '../limits.ts'
import { createJoinAndDescribe, type JoinWaitlist } from '../waitlist/join-waitlist.ts'
import { type CheckForm, createCheckForm, readFormFacts } from './check-form.ts'

export interface ToolDeps extends Omit<GuideDeps, 'guideResponses'> {
  readonly answers: AnswerService
  readonly joinWaitlist: JoinWaitlist
  readonly sendMessage: SendMessage
  readonly ownMessages: OwnMessages
}

/** The output of a tool. The model reads `text`, or the value as JSON if there is no text. */
export interface ToolOutput {
  readonly value: object
  readonly text?: string
}

/** A form that the person fills in before the tool returns an output. */
interface ToolForm {
  readonly form: CheckForm
}

/** The HTTP request that calls a tool. */
export interface ToolRequest {
  readonly request: RequestFacts
  /** Undefined without a token. */
  readonly caller?: Caller | undefined
}

/** A tool call. */
export interface ToolCall extends ToolRequest {
  /** True if the client can show a form that the response contains. */
  readonly canShowForms: boolean
  /**
   * The form that the client sent back with the call. The server has verified that it issued `askedTriggers`. `response` comes
   * from the client and is not validated yet.
   */
  readonly returnedForm?:
    | { readonly askedTriggers: readonly string[]; readonly response: unknown }
    | undefined
}

/** The tools by name. Each throws the same problems as the corresponding route. */
export type Tools = {
  readonly [Name in McpToolName]: (
    input: z.output<(typeof MCP_TOOLS)[Name]['inputSchema']>,
    call: ToolCall,
  ) => Promise<ToolOutput> | ToolOutput | ToolForm
}

/** Creates the tools from the functions that the routes use. */
export function createTools(deps: ToolDeps): Tools {
  const { guides, lister, urls } = deps
  const joinAndDescribe = createJoinAndDescribe(deps)
  const problemOptions = {
    urls,
    guideUrl: urls.guide,
    unknownGuideDetail: 'No guide has this slug. Call list_guides for the slugs.',
  }
  return {
    list_guides: (input) => ({ value: lister.list(guides.current(), input) }),
    search_guides: ({ query, limit }) => ({
      value: { guides: lister.search(guides.current(), query, limit ?? MAX_GUIDES_PER_TOOL_SEARCH) },
    }),
    answer_question(input, { canShowForms, returnedForm }) {
      const formFacts = returnedForm && readFormFacts(returnedForm.response, returnedForm.askedTriggers)
      const facts = { ...input.facts, ...formFacts }
      const answer = deps.answers.answer({ ...input, facts })
      // A call with facts usually repeats a question for which the person has seen a form.
      const mayShowForm = canShowForms && !returnedForm && !input.facts
      const form = mayShowForm ? createCheckForm(answer, urls.ask) : undefined
      if (form) return { form }
      const text = formatAnswer(answer, {
        // No form may ask sensitive questions, so a client with forms gets the URL of the page that asks them.
        ...(canShowForms && { askPageUrl: urls.ask }),
        // The client shows the model neither the form nor the person's answers.
        ...(formFacts && { factsAfterForm: facts }),
      })
      return { value: answer, text }
    },
    async get_guide(input) {
      const guide = await requireGuideVersion(deps, input, problemOptions)
      return { value: toGuideDocument(guide, urls), text: formatGuideAsMarkdown(guide, urls) }
    },
    get_help: () => ({
      value: { help: ALL_HELP, prepare: PREPARE_FOR_ATTORNEY, page: urls.getHelp },
      text: [
        'Get help:',
        ...ALL_HELP.map((help) => `- ${formatHelpLine(help)}`),
        'Before you talk to an attorney, prepare:',
        ...PREPARE_FOR_ATTORNEY.map((paper) => `- ${paper}`),
        `More, also in Spanish: ${urls.getHelp}`,
      ].join('\n'),
    }),
    async join_waitlist(input, { request }) {
      // The MCP routes count only `LIMITS.reads`, so the tool counts the limit of the waitlist route itself.
      for (const policy of LIMITS.waitlist.address) await request.takeForAddress(policy)
      return { value: await joinAndDescribe(input, request) }
    },
    async send_contact_message(input, { request, caller }) {
      const sender = { request, caller: requireContactScope(caller, urls) }
      return { value: await deps.sendMessage(input, sender) }
    },
    async get_contact_message({ id }, { caller }) {
      return { value: await deps.ownMessages.readStatus(id, requireContactScope(caller, urls)) }
    },
    async withdraw_contact_message({ id }, { request, caller }) {
      await deps.ownMessages.withdraw(id, { request, caller: requireContactScope(caller, urls) })
      return { value: { id, status: 'erased' } }
    },
  }
}

import {
  Answer,
  AnswerRequest,
  ContactId,
  ContactReceived,
  ContactRequest,
  ContactState,
  Guide,
  GuideList,
  GuideSlug,
  Help,
  JoinedWaitlist,
  JoinWaitlistRequest,
} from '@plainpath/domain'
import { z } from 'zod'
import { MAX_GUIDES_PER_PAGE, MAX_SEARCH_CHARACTERS } from '../operations/guides.ts'

/** A tool that the MCP server registers and the server card lists. */
export interface McpTool {
  readonly title: string
  /** The description by which a model chooses a tool. */
  readonly description: string
  readonly inputSchema: z.ZodObject
  /** The output schema. It describes an object, because clients of the 2025 revisions accept nothing else. */
  readonly outputSchema: z.ZodObject
  readonly annotations: {
    readonly readOnlyHint: boolean
    readonly destructiveHint: boolean
    readonly idempotentHint: boolean
    /** False for a tool that uses only this service. */
    readonly openWorldHint: boolean
  }
}

const READ_HINTS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false }
/** The hints for a tool that changes something, but changes nothing more when it is called again. */
const ADD_HINTS = { ...READ_HINTS, readOnlyHint: false }

const OwnMessage = z.strictObject({
  id: ContactId.meta({ description: '`id` of the message, as send_contact_message returned it.' }),
})

/** The maximum and default number of guides that a search tool call returns. */
export const MAX_GUIDES_PER_TOOL_SEARCH = 20

const createLimit = (max: number) =>
  z
    .int()
    .min(1)
    .max(max)
    .nullish()
    .meta({ description: `How many guides to list; ${max} unless given.` })

/** All tools by name, in the order of `tools/list`. */
export const MCP_TOOLS = {
  list_guides: {
    title: 'List guides',
    description:
      'List the published plain-English guides to U.S. immigration, with slugs and summaries. Information, not legal advice.',
    inputSchema: z.strictObject({
      limit: createLimit(MAX_GUIDES_PER_PAGE),
      cursor: z.string().nullish().meta({ description: '`next` of the page before.' }),
    }),
    outputSchema: GuideList,
    annotations: READ_HINTS,
  },
  search_guides: {
    title: 'Search guides',
    description:
      'Find the guides that answer a question in plain English, best first, each with the part that answers it. ' +
      'Knows form numbers and everyday words.',
    inputSchema: z.strictObject({
      query: z
        .string()
        .trim()
        .min(1, 'must say what to look for')
        .max(MAX_SEARCH_CHARACTERS, `must have at most ${MAX_SEARCH_CHARACTERS} characters`)
        .meta({
          description:
            'What the person wants to know. Leave out names, addresses, A-Numbers and case numbers.',
        }),
      limit: createLimit(MAX_GUIDES_PER_TOOL_SEARCH),
    }),
    outputSchema: GuideList.pick({ guides: true }),
    annotations: READ_HINTS,
  },
  answer_question: {
    title: 'Answer a question',
    description:
      'Answer a question about U.S. immigration with sections of sourced guides, or learn that it needs an attorney. ' +
      'Ask the person the questions in `check`, then call this tool again with the answers in `facts`. Information, not legal advice.',
    inputSchema: AnswerRequest,
    outputSchema: Answer,
    annotations: READ_HINTS,
  },
  get_guide: {
    title: 'Read a guide',
    description:
      'Read one guide with its official sources, when an attorney is needed, and the disclaimer to show with it.',
    inputSchema: z.strictObject({
      slug: GuideSlug,
      version: z
        .int()
        .min(1)
        // As on the route. PostgreSQL stores versions as 32-bit integers.
        .max(999_999_999)
        .nullish()
        .meta({ description: 'An earlier version; the one that is published unless given.' }),
    }),
    outputSchema: Guide,
    annotations: READ_HINTS,
  },
  get_help: {
    title: 'Get help',
    description:
      'Get the phone lines for danger, detention and immigration court, the official lists of free attorneys, and what to prepare. ' +
      'Use it when somebody is in danger or detained, when a hearing or a deadline is near, or when the person wants an attorney.',
    inputSchema: z.strictObject({}),
    outputSchema: z.strictObject({
      help: z.array(Help).meta({ description: 'Lines and lists, the urgent ones first.' }),
      prepare: z.array(z.string()).meta({ description: 'What to have ready before talking to an attorney.' }),
      page: z.url().meta({ description: 'The page for people, which is also in Spanish.' }),
    }),
    annotations: READ_HINTS,
  },
  join_waitlist: {
    title: 'Join the waitlist',
    description:
      'Put a person on the product waitlist. Ask the person before you send their e-mail address. ' +
      'Joining twice changes nothing.',
    inputSchema: JoinWaitlistRequest,
    outputSchema: JoinedWaitlist.partial().extend({
      status: z.enum(['joined', 'already_joined']).meta({
        description: 'Only `joined` comes with a referral link; who is on the list already gets nothing new.',
      }),
    }),
    annotations: ADD_HINTS,
  },
  send_contact_message: {
    title: 'Send a message',
    description:
      'Send a message to the Plainpath staff for a person who verified their e-mail address with you. ' +
      'Needs a token with contact:write. Ask the person before you send, leave out document numbers, and show `reply` to them.',
    inputSchema: ContactRequest,
    outputSchema: ContactReceived,
    annotations: { ...ADD_HINTS, idempotentHint: false },
  },
  get_contact_message: {
    title: 'Look up a message',
    description:
      'Say whether a message that you sent was received, delivered to staff or erased, and until when it can be withdrawn. ' +
      'Needs a token with contact:write.',
    inputSchema: OwnMessage,
    outputSchema: ContactState,
    annotations: READ_HINTS,
  },
  withdraw_contact_message: {
    title: 'Withdraw a message',
    description:
      'Erase a message that you sent, before it is delivered to staff. Do so when the person asks for it. ' +
      'Needs a token with contact:write.',
    inputSchema: OwnMessage,
    outputSchema: ContactState.pick({ id: true }).extend({ status: z.literal('erased') }),
    annotations: { ...ADD_HINTS, destructiveHint: true },
  },
} satisfies Record<string, McpTool>

export type McpToolName = keyof typeof MCP_TOOLS

/** The tools at the public address. They only read, and need no token. */
export const PUBLIC_TOOLS = [
  'list_guides',
  'search_guides',
  'answer_question',
  'get_guide',
  'get_help',
] as const satisfies readonly McpToolName[]

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
import { LONGEST_SEARCH, MOST_GUIDES } from '../operations/guides.ts'

/** One tool of the MCP server, said once: the server registers it, and the server card lists it. */
export interface McpTool {
  readonly title: string
  /** What a model reads when it chooses a tool. */
  readonly description: string
  readonly inputSchema: z.ZodObject
  /** What may leave the process; 2025-era clients know objects only. */
  readonly outputSchema: z.ZodObject
  readonly annotations: {
    readonly readOnlyHint: boolean
    readonly destructiveHint: boolean
    readonly idempotentHint: boolean
    /** False where a tool touches nothing but this service. */
    readonly openWorldHint: boolean
  }
}

const READS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false }
const ADDS = { ...READS, readOnlyHint: false }

const OwnMessage = z.strictObject({
  id: ContactId.meta({ description: '`id` of the message, as send_contact_message returned it.' }),
})

/** The most guides that a search by tool answers, and the number when `limit` is absent. */
export const MOST_TOOL_RESULTS = 20

const Limit = (most: number) =>
  z
    .int()
    .min(1)
    .max(most)
    .nullish()
    .meta({ description: `How many guides to list; ${most} unless given.` })

/** Every tool by name, in the order of `tools/list`. */
export const MCP_TOOLS = {
  list_guides: {
    title: 'List guides',
    description:
      'List the published plain-English guides to U.S. immigration, with slugs and summaries. Information, not legal advice.',
    inputSchema: z.strictObject({
      limit: Limit(MOST_GUIDES),
      cursor: z.string().nullish().meta({ description: '`next` of the page before.' }),
    }),
    outputSchema: GuideList,
    annotations: READS,
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
        .max(LONGEST_SEARCH, `must have at most ${LONGEST_SEARCH} characters`)
        .meta({
          description:
            'What the person wants to know. Leave out names, addresses, A-Numbers and case numbers.',
        }),
      limit: Limit(MOST_TOOL_RESULTS),
    }),
    outputSchema: GuideList.pick({ guides: true }),
    annotations: READS,
  },
  answer_question: {
    title: 'Answer a question',
    description:
      'Answer a question about U.S. immigration with sections of sourced guides, or learn that it needs an attorney. ' +
      'Put the questions in `check` to the person, and ask again with `facts`. Information, not legal advice.',
    inputSchema: AnswerRequest,
    outputSchema: Answer,
    annotations: READS,
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
        .nullish()
        .meta({ description: 'An earlier version; the one that is published unless given.' }),
    }),
    outputSchema: Guide,
    annotations: READS,
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
    annotations: READS,
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
    annotations: ADDS,
  },
  send_contact_message: {
    title: 'Send a message',
    description:
      'Send a message to the Plainpath staff for a person who verified their e-mail address with you. ' +
      'Needs a token with contact:write. Ask the person before you send, leave out document numbers, and show `reply` to them.',
    inputSchema: ContactRequest,
    outputSchema: ContactReceived,
    annotations: { ...ADDS, idempotentHint: false },
  },
  get_contact_message: {
    title: 'Look up a message',
    description:
      'Say whether a message that you sent was received, delivered to staff or erased, and until when it can be withdrawn. ' +
      'Needs a token with contact:write.',
    inputSchema: OwnMessage,
    outputSchema: ContactState,
    annotations: READS,
  },
  withdraw_contact_message: {
    title: 'Withdraw a message',
    description:
      'Erase a message that you sent, before it is delivered to staff. Do so when the person asks for it. ' +
      'Needs a token with contact:write.',
    inputSchema: OwnMessage,
    outputSchema: ContactState.pick({ id: true }).extend({ status: z.literal('erased') }),
    annotations: { ...ADDS, destructiveHint: true },
  },
} satisfies Record<string, McpTool>

export type McpToolName = keyof typeof MCP_TOOLS

/** The tools at the public address: they only read, and none needs to know the person. */
export const PUBLIC_TOOLS = [
  'list_guides',
  'search_guides',
  'answer_question',
  'get_guide',
  'get_help',
] as const satisfies readonly McpToolName[]

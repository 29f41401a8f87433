import { Problem, type RequestFacts, type RouteReply } from '@plainpath/http'
import { MCP_VERSIONS } from '@plainpath/metadata'
import { z } from 'zod'

/** The challenge by which one kind of chat app learns that the person has to sign in. */
interface HostChallenge {
  /** The names of the chat apps. They are documentation only. */
  readonly hosts: string
  /** Matches the `User-Agent` of MCP requests. Anybody can send it, so it decides nothing but the form of a refusal. */
  readonly userAgent: RegExp
  /**
   * The response to a tool call without a valid token. `status` is 401 with `WWW-Authenticate`, as for every other message.
   * `result` is 200 with a tool result whose `_meta` has the challenge.
   */
  readonly toolCall: 'status' | 'result'
  /** The documentation or report of this behaviour, with its version or the day of the last check. */
  readonly source: string
}

/** The chat apps. The first matching row applies. */
const HOST_CHALLENGES: readonly HostChallenge[] = [
  {
    hosts: 'ChatGPT',
    userAgent: /^openai-mcp(?:\/|$)/,
    toolCall: 'result',
    source:
      'developers.openai.com/apps-sdk/build/auth; mcp-use #2611, 2026-09-21: a 401 to a tool call opens no sign-in',
  },
  {
    hosts: 'all others',
    userAgent: /^/,
    toolCall: 'status',
    source: 'MCP 2026-07-28, Authorization; Claude, Grok and Cursor start OAuth on a 401 only',
  },
]

const findChallengeForm = (userAgent: string): HostChallenge['toolCall'] =>
  HOST_CHALLENGES.find((row) => row.userAgent.test(userAgent))?.toolCall ?? 'status'

const ToolCall = z.looseObject({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number()]),
  method: z.literal('tools/call'),
})

const SIGN_IN_CODES: ReadonlySet<unknown> = new Set(['token-required', 'invalid-token'])

/**
 * Converts a refusal's challenge to a tool result, if the message is a tool call from a chat app that needs this form. Returns
 * undefined for any other message, chat app or refusal, and for a body that is not a message.
 */
export async function convertChallengeToResult(
  refusal: unknown,
  { request, readBody }: { request: Pick<RequestFacts, 'header'>; readBody: () => Promise<unknown> },
): Promise<RouteReply | undefined> {
  if (!(refusal instanceof Problem) || !SIGN_IN_CODES.has(refusal.code)) return undefined
  if (findChallengeForm(request.header('user-agent')) === 'status') return undefined
  // A body that cannot be read is not a tool call, so its refusal stays an HTTP status.
  const call = ToolCall.safeParse(await readBody().catch(() => undefined))
  const challenge = refusal.options.headers?.['www-authenticate']
  if (!call.success || challenge === undefined) return undefined
  const toolResult = {
    // The revisions of 2025 do not have this member.
    ...(request.header('mcp-protocol-version') === MCP_VERSIONS[0] && { resultType: 'complete' }),
    content: [{ type: 'text', text: SIGN_IN_TEXT }],
    isError: true,
    _meta: { 'mcp/www_authenticate': [addErrorParameters(challenge)] },
  }
  const content = JSON.stringify({ jsonrpc: '2.0', id: call.data.id, result: toolResult })
  return { status: 200, text: { type: 'application/json', content } }
}

const SIGN_IN_TEXT = 'The person must sign in to Plainpath first. The app shows them how.'

/** Adds `error` and `error_description`, which the documentation of this form shows even for a call without a token. */
const addErrorParameters = (challenge: string) =>
  `${challenge}${challenge.includes('error="') ? '' : ', error="invalid_token"'}, error_description="${SIGN_IN_TEXT}"`

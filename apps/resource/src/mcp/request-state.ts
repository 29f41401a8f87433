import { RULES } from '@plainpath/domain'
import type { Caller } from '@plainpath/http'
import { equalBytes, type HashKey } from '@plainpath/sealing'
import { z } from 'zod'

/*
 * `requestState` of the Model Context Protocol: what a client sends back with a form. It comes from the client, so it is
 * authenticated and bound to the call that it belongs to. Nothing is stored: any instance can read what another one wrote.
 */

/** The call that showed a form. */
export interface FormCall {
  /** The address of the MCP server. */
  readonly address: string
  /** Undefined without a token. */
  readonly caller: Pick<Caller, 'clientId' | 'registrationId'> | undefined
  readonly tool: string
  /** As they were sent; the order of members does not count. */
  readonly arguments: unknown
}

const State = z.strictObject({
  /** Seconds since 1970. */
  expires: z.int(),
  /** The triggers whose questions the form has. */
  asked: z.array(z.string()),
})

/** Writes and reads the state of forms. */
export interface RequestStates {
  /** @param asked the triggers whose questions the form has */
  write(asked: readonly string[], call: FormCall): string
  /**
   * Returns the triggers whose questions the form had.
   * @throws {Error} if the state is altered, expired, or of another caller, address, tool or other arguments
   */
  read(state: string, call: FormCall): readonly string[]
}

/** Creates the functions that write and read states: base64url of JSON, a dot, and base64url of HMAC-SHA-256. */
export function requestStates({ hashKey, now }: { hashKey: HashKey; now: () => Date }): RequestStates {
  const mac = (body: string, { address, caller, tool, ...call }: FormCall) =>
    hashKey
      .hash(
        'mcp-request-state',
        canonicalJson([body, address, caller?.clientId, caller?.registrationId, tool, call.arguments]),
      )
      .toString('base64url')
  return {
    write(asked, call) {
      const expires = Math.floor((now().getTime() + RULES.formMs) / 1000)
      const body = Buffer.from(JSON.stringify({ expires, asked })).toString('base64url')
      return `${body}.${mac(body, call)}`
    },
    read(state, call) {
      const [body = '', sent = '', ...rest] = state.split('.')
      if (rest.length > 0 || !equalBytes(Buffer.from(sent), Buffer.from(mac(body, call))))
        throw new Error('not authentic')
      const { expires, asked } = State.parse(JSON.parse(Buffer.from(body, 'base64url').toString()))
      if (expires * 1000 <= now().getTime()) throw new Error('expired')
      return asked
    },
  }
}

/** Formats a JSON value so that equal values have equal texts. */
const canonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  )

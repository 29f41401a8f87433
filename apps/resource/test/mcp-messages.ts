import { type HttpRequest, type HttpResponse, sendRequest } from './send-request.ts'

/** One protocol revision of each era: the first era begins with `initialize`, and the second does not. */
export const ERAS = ['2025-11-25', '2026-07-28'] as const
export type Era = (typeof ERAS)[number]

interface Message {
  readonly era?: Era
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>>
}

/** The first message of a client, by era. */
export const FIRST_MESSAGE: Readonly<Record<Era, Message>> = {
  '2025-11-25': {
    era: '2025-11-25',
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    },
  },
  '2026-07-28': { era: '2026-07-28', method: 'server/discover' },
}

export const createToolCall = (name: string, args: object = {}, era: Era = '2025-11-25'): Message => ({
  era,
  method: 'tools/call',
  params: { name, arguments: args },
})

/** Sends a message as a client of its era does. @param overrides replaces parts of the request */
export function sendMessage(
  origin: string,
  path: string,
  { era = '2025-11-25', method, params = {} }: Message,
  overrides: Omit<HttpRequest, 'path'> = {},
): Promise<HttpResponse> {
  const isStateless = era === '2026-07-28'
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': era,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const body = { jsonrpc: '2.0', id: 7, method, params: { ...params, ...(isStateless && { _meta }) } }
  return sendRequest(origin, {
    method: 'POST',
    path,
    body: JSON.stringify(body),
    ...overrides,
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...(isStateless && {
        'mcp-protocol-version': era,
        'mcp-method': method,
        ...(typeof params['name'] === 'string' && { 'mcp-name': params['name'] }),
      }),
      ...overrides.headers,
    },
  })
}

/** Parses the JSON-RPC response, whose body is JSON or a stream with one event. */
export const parseMessage = ({ body }: HttpResponse) => JSON.parse(/^data: (.*)$/m.exec(body)?.[1] ?? body)

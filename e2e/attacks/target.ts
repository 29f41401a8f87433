import { OPERATIONS, type Operation } from '@plainpath/metadata'
import { z } from 'zod'
import type { System } from '../in-process/start-system.ts'
import { NEEDS_A_PERSON } from '../needs-a-person.ts'
import { basic, createSender, form, type HttpRequest, json, type Sender } from '../send.ts'

export type FormFields = readonly (readonly [string, string])[]

/** An operation, and a way to call it successfully. */
export interface Target {
  readonly operation: Pick<Operation, 'operationId' | 'method' | 'path' | 'access' | 'tag' | 'request'>
  readonly kind: 'json' | 'form' | 'bodiless'
  readonly sender: Sender
  /** Creates a request that succeeds, with new values each time. */
  valid(): Promise<HttpRequest>
  /** Creates the request with another body. */
  withBody(body: unknown): Promise<HttpRequest>
  withFields(fields: FormFields): Promise<HttpRequest>
  readonly accepted: readonly number[]
}

export interface Targets extends Disposable {
  readonly all: readonly Target[]
  /** A credential and a token that stay valid. */
  readonly agent: { readonly client_id: string; readonly client_secret: string }
  readonly token: string
  /** The number of requests sent so far. */
  requestCount(): number
}

const Registered = z.object({ client_id: z.string(), client_secret: z.string() })
const Secret = z.object({ secret_id: z.uuid() })
const ENDING = new Set([
  'deleteAgent',
  'getAgent',
  'replaceAgentKeys',
  'createAgentSecret',
  'deleteAgentSecret',
])
const Granted = z.object({ access_token: z.string() })

let serial = 0
const freshEmail = () => `attack${++serial}.${process.pid}@example.org`

/** Lists every public operation of both apps, and introspection on the internal listener. */
export async function openTargets(system: System): Promise<Targets> {
  let requests = 0
  const counted = (url: string): Sender => {
    const sender = createSender(url)
    const send: Sender['send'] = (sent) => {
      requests += 1
      return sender.send(sent)
    }
    return { ...sender, send }
  }
  const publicly = counted(system.origin)
  const internally = counted(system.internalUrl)
  const register = async () => {
    const { text } = await publicly.send({ method: 'POST', path: '/api/agent/register' })
    return Registered.parse(JSON.parse(text))
  }
  const agent = await register()
  const credentials = basic(agent.client_id, agent.client_secret)
  const grant = { grant_type: 'client_credentials' }
  const granted = await publicly.send({
    method: 'POST',
    path: '/oauth/token',
    ...withHeaders(form(grant), credentials),
  })
  const token = Granted.parse(JSON.parse(granted.text)).access_token

  const authorization = async ({ operationId, access }: Target['operation']) => {
    if (operationId === 'introspect')
      return { ...system.resourceServer, accept: 'application/token-introspection+jwt' }
    // These, or another method at their path, delete the client or revoke its secret.
    if (ENDING.has(operationId)) {
      const fresh = await register()
      return basic(fresh.client_id, fresh.client_secret)
    }
    return access === 'client' ? credentials : {}
  }
  /** Only a second secret may be revoked. */
  const fillPath = async ({ operationId, path }: Target['operation'], headers: Record<string, string>) => {
    if (operationId !== 'deleteAgentSecret') return path.replace('{slug}', 'avoid-scams')
    const { text } = await publicly.send({ method: 'POST', path: '/api/agent/secrets', headers })
    return path.replace('{id}', Secret.parse(JSON.parse(text)).secret_id)
  }
  const target = (operation: Target['operation'], sender: Sender, good: () => unknown): Target => {
    const isForm = operation.path.startsWith('/oauth/')
    const call = { method: operation.method.toUpperCase() }
    const withContent = async (content: Pick<HttpRequest, 'headers' | 'body'>) => {
      const headers = await authorization(operation)
      const path = await fillPath(operation, headers)
      return { ...call, path, ...withHeaders(content, headers) }
    }
    const withBody = (body: unknown) => withContent(json(body))
    const withFields = (fields: FormFields) => withContent(form(fields))
    return {
      operation,
      kind: operation.request?.body ? (isForm ? 'form' : 'json') : 'bodiless',
      sender,
      withBody,
      withFields,
      valid() {
        if (!operation.request?.body) return withContent({})
        return isForm ? withFields(Object.entries(good() as Record<string, string>)) : withBody(good())
      },
      accepted: operation.method === 'delete' ? [204] : [200, 201, 202],
    }
  }
  const bodies: Record<string, () => unknown> = {
    registerAgent: () => ({ client_name: 'Atlas' }),
    replaceAgentKeys: () => ({ keys: [POINT] }),
    joinWaitlist: () => ({ email: freshEmail() }),
    forgetWaitlist: () => ({ email: freshEmail() }),
    answerQuestion: () => ({ question: 'When do I renew my green card?' }),
    beginClaim: () => ({ email: freshEmail() }),
    createToken: () => grant,
    revokeToken: () => ({ token: `ppt_${'B'.repeat(43)}` }),
    introspect: () => ({ token }),
  }
  return {
    all: [
      ...OPERATIONS.filter(({ operationId }) => !NEEDS_A_PERSON.has(operationId)).map((operation) =>
        target(operation, publicly, bodies[operation.operationId] ?? (() => undefined)),
      ),
      target(INTROSPECTION, internally, bodies['introspect'] ?? (() => undefined)),
    ],
    agent,
    token,
    requestCount: () => requests,
    [Symbol.dispose]() {
      publicly[Symbol.dispose]()
      internally[Symbol.dispose]()
    },
  }
}

/** The example of RFC 7517, appendix A.1. */
const POINT = {
  kty: 'EC',
  crv: 'P-256',
  x: 'MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4',
  y: '4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM',
}

const INTROSPECTION: Target['operation'] = {
  operationId: 'introspect',
  method: 'post',
  path: '/oauth/introspect',
  access: 'client',
  tag: 'OAuth',
  request: { body: z.object({ token: z.string().min(1) }) },
}

const withHeaders = (content: Pick<HttpRequest, 'headers' | 'body'>, more: Record<string, string>) => ({
  ...content,
  headers: { ...content.headers, ...more },
})

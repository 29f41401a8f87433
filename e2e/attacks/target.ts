import { OPERATION_LIST, type Operation } from '@plainpath/metadata'
import { z } from 'zod'
import type { System } from '../in-process/start-system.ts'
import { NEEDS_A_PERSON } from '../needs-a-person.ts'
import { basic, createSender, form, type HttpRequest, json, type Sender } from '../send.ts'

export type FormFields = readonly (readonly [string, string])[]

/** An operation, and a way to call it successfully. */
export interface Target {
  readonly operation: Pick<Operation, 'operationId' | 'method' | 'path' | 'access' | 'tag' | 'request'>
  /** The format of the request body. `bodiless` operations take none. */
  readonly kind: 'json' | 'form' | 'bodiless'
  /** Sends to the listener that serves the operation. */
  readonly sender: Sender
  /** Creates a request that succeeds. Values that must be unique are new each time. */
  createValidRequest(): Promise<HttpRequest>
  /** Creates a request with this JSON body. */
  withBody(body: unknown): Promise<HttpRequest>
  /** Creates a request with this form as its body. */
  withFields(fields: FormFields): Promise<HttpRequest>
  /** The statuses with which the operation can succeed. */
  readonly acceptedStatuses: readonly number[]
}

export interface Targets extends Disposable {
  readonly all: readonly Target[]
  /** A client whose secret no test revokes. */
  readonly agent: { readonly client_id: string; readonly client_secret: string }
  /** A token of `agent` that no test revokes. */
  readonly token: string
  /** Returns the number of requests sent so far. */
  countRequests(): number
}

const RegistrationResponse = z.object({ client_id: z.string(), client_secret: z.string() })
const SecretResponse = z.object({ secret_id: z.uuid() })
/**
 * Operations of which each request needs a new client, because they delete the client or change its credentials. `getAgent`
 * is one of them, because an attack may send DELETE to its path.
 */
const NEEDS_NEW_CLIENT = new Set([
  'deleteAgent',
  'getAgent',
  'replaceAgentKeys',
  'createAgentSecret',
  'deleteAgentSecret',
])
const TokenResponse = z.object({ access_token: z.string() })

let emailCount = 0
const createEmail = () => `attack${++emailCount}.${process.pid}@example.org`

/** Opens the targets: the public operations that need no person, and introspection on the internal listener. */
export async function openTargets(system: System): Promise<Targets> {
  let requestCount = 0
  const createCountingSender = (url: string): Sender => {
    const sender = createSender(url)
    const send: Sender['send'] = (sent) => {
      requestCount += 1
      return sender.send(sent)
    }
    return { ...sender, send }
  }
  const publicSender = createCountingSender(system.origin)
  const internalSender = createCountingSender(system.internalUrl)
  const register = async () => {
    const { text } = await publicSender.send({ method: 'POST', path: '/api/agent/register' })
    return RegistrationResponse.parse(JSON.parse(text))
  }
  const agent = await register()
  const credentials = basic(agent.client_id, agent.client_secret)
  const grant = { grant_type: 'client_credentials' }
  const tokenResponse = await publicSender.send({
    method: 'POST',
    path: '/oauth/token',
    ...withHeaders(form(grant), credentials),
  })
  const token = TokenResponse.parse(JSON.parse(tokenResponse.text)).access_token

  const createAuthHeaders = async ({ operationId, access }: Target['operation']) => {
    if (operationId === 'introspect')
      return { ...system.apiCredentialHeader, accept: 'application/token-introspection+jwt' }
    if (NEEDS_NEW_CLIENT.has(operationId)) {
      const newAgent = await register()
      return basic(newAgent.client_id, newAgent.client_secret)
    }
    return access === 'client' ? credentials : {}
  }
  /** Fills the parameters of a path. Only a second secret may be revoked, so this creates one. */
  const fillPath = async ({ operationId, path }: Target['operation'], headers: Record<string, string>) => {
    if (operationId !== 'deleteAgentSecret') return path.replace('{slug}', 'avoid-scams')
    const { text } = await publicSender.send({ method: 'POST', path: '/api/agent/secrets', headers })
    return path.replace('{id}', SecretResponse.parse(JSON.parse(text)).secret_id)
  }
  const createTarget = (
    operation: Target['operation'],
    sender: Sender,
    createBody: () => unknown,
  ): Target => {
    const isForm = operation.path.startsWith('/oauth/')
    const bodyKind = isForm ? 'form' : 'json'
    const method = operation.method.toUpperCase()
    const withContent = async (content: Pick<HttpRequest, 'headers' | 'body'>) => {
      const headers = await createAuthHeaders(operation)
      const path = await fillPath(operation, headers)
      return { method, path, ...withHeaders(content, headers) }
    }
    const withBody = (body: unknown) => withContent(json(body))
    const withFields = (fields: FormFields) => withContent(form(fields))
    return {
      operation,
      kind: operation.request?.body ? bodyKind : 'bodiless',
      sender,
      withBody,
      withFields,
      createValidRequest() {
        if (!operation.request?.body) return withContent({})
        return isForm
          ? withFields(Object.entries(createBody() as Record<string, string>))
          : withBody(createBody())
      },
      acceptedStatuses: operation.method === 'delete' ? [204] : [200, 201, 202],
    }
  }
  const bodyCreators: Record<string, () => unknown> = {
    registerAgent: () => ({ client_name: 'Atlas' }),
    replaceAgentKeys: () => ({ keys: [EXAMPLE_KEY] }),
    joinWaitlist: () => ({ email: createEmail() }),
    forgetWaitlist: () => ({ email: createEmail() }),
    answerQuestion: () => ({ question: 'When do I renew my green card?' }),
    beginClaim: () => ({ email: createEmail() }),
    createToken: () => grant,
    revokeToken: () => ({ token: `ppt_${'B'.repeat(43)}` }),
    introspect: () => ({ token }),
  }
  return {
    all: [
      ...OPERATION_LIST.filter(({ operationId }) => !NEEDS_A_PERSON.has(operationId)).map((operation) =>
        createTarget(operation, publicSender, bodyCreators[operation.operationId] ?? (() => undefined)),
      ),
      createTarget(INTROSPECTION, internalSender, bodyCreators['introspect'] ?? (() => undefined)),
    ],
    agent,
    token,
    countRequests: () => requestCount,
    [Symbol.dispose]() {
      publicSender[Symbol.dispose]()
      internalSender[Symbol.dispose]()
    },
  }
}

/** The example key of RFC 7517, appendix A.1. */
const EXAMPLE_KEY = {
  kty: 'EC',
  crv: 'P-256',
  x: 'MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4',
  y: '4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM',
}

/** Introspection is not in `OPERATION_LIST`, because only the internal listener serves it. */
const INTROSPECTION: Target['operation'] = {
  operationId: 'introspect',
  method: 'post',
  path: '/oauth/introspect',
  access: 'client',
  tag: 'OAuth',
  request: { body: z.object({ token: z.string().min(1) }) },
}

const withHeaders = (
  content: Pick<HttpRequest, 'headers' | 'body'>,
  extraHeaders: Record<string, string>,
) => ({
  ...content,
  headers: { ...content.headers, ...extraHeaders },
})

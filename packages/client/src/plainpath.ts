import { AgentKey } from './agent-key.ts'
import type {
  Answer,
  Assertion,
  BegunVerification,
  Facts,
  FoundGuide,
  Guide,
  Message,
  MessageState,
  ReceivedMessage,
  RegisteredAgent,
  Registration,
  Token,
} from './api-types.ts'
import type { CallOptions, PlainpathOptions } from './client-options.ts'
import { type Credentials, pickCredentials, safeOrigin } from './credentials.ts'
import { messageKey } from './message-key.ts'
import { PlainpathError } from './plainpath-error.ts'
import { type ApiRequest, abandonable, send } from './send.ts'
import { TokenSource } from './token-source.ts'

const DEFAULT_TIMEOUT_MS = 10_000
const CLIENT_ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const JWT_BEARER_GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/**
 * A client for one agent that works for one person. It holds credentials and tokens in memory only, and puts them into no error. Each method throws a `PlainpathError`, or the abort reason of its signal.
 */
export class Plainpath {
  readonly #origin: string
  readonly #timeoutMs: number
  readonly #key: AgentKey | undefined
  /** The last `DPoP-Nonce` of the token endpoint. */
  #nonce: string | undefined
  /** Replaces the client secret in `messageKey` for an agent that has keys and no secret. */
  readonly #messageSecret = crypto.randomUUID()
  #credentials: Credentials | undefined
  #registering: Promise<Credentials> | undefined
  /** Tokens for reading. They give the agent limits of its own. */
  #agentTokens = this.#newAgentTokens()
  /** Tokens with `contact:write`, for acting in the person's name. */
  #personTokens = this.#newPersonTokens()

  /**
   * @param origin of the service, such as `https://plainpath.example`
   * @throws {TypeError} when it is neither `https:` nor a loopback address, the credentials are for another origin, or there is
   *   neither a secret nor a key that the service takes
   */
  constructor(origin: string, { credentials, keys, timeoutMs = DEFAULT_TIMEOUT_MS }: PlainpathOptions = {}) {
    this.#origin = safeOrigin(origin)
    if (credentials && credentials.origin !== this.#origin)
      throw new TypeError(`These credentials are for ${credentials.origin}, not for ${this.#origin}.`)
    if (credentials && !credentials.client_secret && !keys)
      throw new TypeError('These credentials have no secret: pass the keys of the agent too.')
    this.#credentials = credentials && pickCredentials(this.#origin, credentials)
    this.#key = keys && new AgentKey(keys)
    this.#timeoutMs = timeoutMs
  }

  /** The agent's credentials; undefined before `register` and after `deleteRegistration`. */
  get credentials(): Credentials | undefined {
    return this.#credentials
  }

  /**
   * Answers a question from the guides, or hands the person to an attorney. Put the questions in `check` to the person, and
   * ask again with their answers as `facts`.
   */
  async ask(
    question: string,
    { facts, ...options }: CallOptions & { facts?: Facts | undefined } = {},
  ): Promise<Answer> {
    const body = { question, ...(facts && { facts }) }
    return this.#read<Answer>({ method: 'POST', url: this.#url('/api/answers'), body }, options)
  }

  /** Searches the guides; the best one comes first. */
  async search(
    query: string,
    { limit, ...options }: CallOptions & { limit?: number | undefined } = {},
  ): Promise<FoundGuide[]> {
    const url = this.#url('/api/guides', { q: query, limit })
    return (await this.#read<{ guides: FoundGuide[] }>({ method: 'GET', url }, options)).guides
  }

  /** Reads a guide, with its sources. @param version an earlier version; the published one unless given */
  async guide(
    slug: string,
    { version, ...options }: CallOptions & { version?: number | undefined } = {},
  ): Promise<Guide> {
    const url = this.#url(`/api/guides/${encodeURIComponent(slug)}`, { version })
    return this.#read<Guide>({ method: 'GET', url }, options)
  }

  /** Registers the agent, unless this client has credentials. Register once for each person, and save `credentials`. */
  async register(registration: Registration = {}, { signal }: CallOptions = {}): Promise<Credentials> {
    if (this.#credentials) return this.#credentials
    this.#registering ??= this.#register(registration).finally(() => {
      this.#registering = undefined
    })
    return abandonable(this.#registering, signal)
  }

  /**
   * Asks a person by e-mail to confirm that the agent acts for them. Get their permission first. Then show them `match_phrase`: the
   * page behind the mailed link shows the same words, and then a code.
   */
  async beginVerification(email: string, options: CallOptions = {}): Promise<BegunVerification> {
    const body = { email }
    // An agent with a document is unknown to the service until its first token.
    if (this.#requireCredentials().client_id.startsWith('https:'))
      await abandonable(this.#agentTokens.get(), options.signal)
    return this.#asClient<BegunVerification>({ method: 'POST', path: '/api/agent/claim', body }, options)
  }

  /** Completes the verification with the code that the person read out. */
  async completeVerification(code: string, options: CallOptions = {}): Promise<void> {
    const body = { otp: code }
    const path = '/api/agent/claim/complete'
    await this.#asClient({ method: 'POST', path, body }, options)
    this.#personTokens = this.#newPersonTokens()
  }

  /**
   * Sends a message for the person, who has confirmed the agent and agreed to the message. Show them `reply`. The same message is
   * sent once in 24 hours: later calls return the result of the first.
   *
   * @param options.idempotencyKey a new key sends the same message again
   */
  async sendMessage(
    message: Message,
    { idempotencyKey, ...options }: CallOptions & { idempotencyKey?: string | undefined } = {},
  ): Promise<ReceivedMessage> {
    const key =
      idempotencyKey ??
      (await messageKey(message, this.#requireCredentials().client_secret ?? this.#messageSecret))
    const request = { method: 'POST', url: this.#url('/api/contact'), body: message } as const
    const headers = { 'Idempotency-Key': key }
    return this.#withToken<ReceivedMessage>(
      this.#personTokens,
      { ...request, headers, repeatable: true },
      options,
    )
  }

  /** Reads the state of a message. */
  async messageStatus(id: string, options: CallOptions = {}): Promise<MessageState> {
    const request = { method: 'GET', url: this.#messageUrl(id), repeatable: true } as const
    return this.#withToken<MessageState>(this.#personTokens, request, options)
  }

  /** Withdraws a message that has not been delivered; otherwise the error has the code `already-delivered`. */
  async withdraw(id: string, options: CallOptions = {}): Promise<void> {
    const request = { method: 'DELETE', url: this.#messageUrl(id), repeatable: true } as const
    await this.#withToken(this.#personTokens, request, options)
  }

  /** Deletes the registration: its tokens and the confirmation of the person end with it. */
  async deleteRegistration(options: CallOptions = {}): Promise<void> {
    await this.#asClient({ method: 'DELETE', path: '/api/agent' }, options)
    this.#credentials = undefined
    this.#agentTokens = this.#newAgentTokens()
    this.#personTokens = this.#newPersonTokens()
  }

  async #register(registration: Registration): Promise<Credentials> {
    const url = this.#url('/api/agent/register')
    const jwks = this.#key && { keys: [await this.#key.publicJwk()] }
    const body = { ...registration, ...(jwks && { jwks, dpop_bound_access_tokens: true }) }
    const request = { method: 'POST', url, body, repeatable: false } as const
    const agent = await this.#send<RegisteredAgent>(request, {})
    this.#credentials = pickCredentials(this.#origin, agent)
    return this.#credentials
  }

  #newAgentTokens(): TokenSource {
    return new TokenSource(() => this.#requestToken({ grant_type: 'client_credentials' }))
  }

  #newPersonTokens(): TokenSource {
    return new TokenSource(async () => {
      const request = { method: 'POST', path: '/api/agent/assertion', repeatable: true } as const
      const { identity_assertion: assertion } = await this.#asClient<Assertion>(request, {})
      return this.#requestToken({ grant_type: JWT_BEARER_GRANT, assertion })
    })
  }

  async #requestToken(form: Record<string, string>): Promise<Token> {
    const body = new URLSearchParams(form)
    const request = { method: 'POST', path: '/oauth/token', body, repeatable: true } as const
    try {
      return await this.#asClient<Token>(request, {})
    } catch (error) {
      if (!(error instanceof PlainpathError) || error.code !== 'use-dpop-nonce') throw error
    }
    return this.#asClient<Token>(request, {})
  }

  /** Sends a request that needs no token. A registered agent sends its token all the same, since that has higher limits. */
  async #read<T>(request: Omit<ApiRequest, 'repeatable'>, options: CallOptions): Promise<T> {
    const repeatable = { ...request, repeatable: true }
    return this.#credentials
      ? this.#withToken<T>(this.#agentTokens, repeatable, options)
      : this.#send<T>(repeatable, options)
  }

  /** Sends a request with a token. If the API refuses the token, requests a new one and tries once more. */
  async #withToken<T>(tokens: TokenSource, request: ApiRequest, options: CallOptions): Promise<T> {
    const sendWith = (token: string) =>
      this.#send<T>({ ...request, sign: (unsigned) => this.#presentToken(unsigned, token) }, options)
    const token = await abandonable(tokens.get(), options.signal)
    try {
      return await sendWith(token)
    } catch (error) {
      if (!(error instanceof PlainpathError) || error.status !== 401) throw error
    }
    tokens.drop(token)
    return sendWith(await abandonable(tokens.get(), options.signal))
  }

  async #presentToken(request: ApiRequest, token: string): Promise<ApiRequest> {
    const { method, url } = request
    const headers = this.#key
      ? { Authorization: `DPoP ${token}`, DPoP: await this.#key.proof({ method, url, token }) }
      : { Authorization: `Bearer ${token}` }
    return { ...request, headers: { ...request.headers, ...headers } }
  }

  async #asClient<T>(
    { path, repeatable = false, ...request }: ClientRequest,
    options: CallOptions,
  ): Promise<T> {
    const credentials = this.#requireCredentials()
    return this.#send<T>(
      {
        ...request,
        url: this.#url(path),
        repeatable,
        sign: (unsigned) => this.#authenticate(unsigned, credentials),
        onHeaders: (headers) => {
          this.#nonce = headers.get('DPoP-Nonce') ?? this.#nonce
        },
      },
      options,
    )
  }

  /** Adds the client's authentication, and to a token request of an agent with keys a proof that it holds the key. */
  async #authenticate(request: ApiRequest, { client_id, client_secret }: Credentials): Promise<ApiRequest> {
    if (!this.#key) {
      const Authorization = `Basic ${btoa(`${client_id}:${client_secret}`)}`
      return { ...request, headers: { ...request.headers, Authorization } }
    }
    const assertion = await this.#key.assertion(client_id, this.#origin)
    if (!(request.body instanceof URLSearchParams))
      return { ...request, headers: { ...request.headers, 'Client-Assertion': assertion } }
    const { method, url } = request
    const body = new URLSearchParams([
      ...request.body,
      ['client_assertion_type', CLIENT_ASSERTION_TYPE],
      ['client_assertion', assertion],
    ])
    const DPoP = await this.#key.proof({ method, url, nonce: this.#nonce })
    return { ...request, body, headers: { ...request.headers, DPoP } }
  }

  async #send<T>(request: ApiRequest, { signal }: CallOptions): Promise<T> {
    return (await send(request, { timeoutMs: this.#timeoutMs, signal })) as T
  }

  #requireCredentials(): Credentials {
    if (this.#credentials) return this.#credentials
    throw new PlainpathError({
      status: 0,
      code: 'not-registered',
      detail: 'Call register, or pass the credentials that you saved.',
    })
  }

  #messageUrl(id: string): URL {
    return this.#url(`/api/contact/${encodeURIComponent(id)}`)
  }

  #url(path: string, query: Readonly<Record<string, string | number | undefined>> = {}): URL {
    const url = new URL(path, this.#origin)
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value))
    return url
  }
}

type ClientRequest = Pick<ApiRequest, 'method' | 'body'> & { path: string; repeatable?: boolean }

import { addAccessToken, type TokenRequest } from './access-token.ts'
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
import { addClientAuthentication, type ClientRequest } from './client-authentication.ts'
import type { CallOptions, PlainpathOptions } from './client-options.ts'
import { type Credentials, createCredentials, parseSecureOrigin } from './credentials.ts'
import { computeMessageKey } from './message-key.ts'
import { PlainpathError } from './plainpath-error.ts'
import { type ApiRequest, send, waitUnlessAborted } from './send.ts'
import { TokenSource } from './token-source.ts'

const DEFAULT_TIMEOUT_MS = 10_000
/** The code if the API cannot check the token, because the authorization server is unavailable. */
const UNCHECKED_TOKEN_CODE = 'unavailable'
const JWT_BEARER_GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/**
 * A client for one agent that works for one person. Credentials and tokens stay in memory, and errors do not contain them. Each
 * method throws a `PlainpathError`, the abort reason of its signal, or the error of a key that cannot sign.
 */
export class Plainpath {
  readonly #origin: string
  readonly #timeoutMs: number
  readonly #key: AgentKey | undefined
  /** The last `DPoP-Nonce` in a response to a request with client authentication. */
  #nonce: string | undefined
  /** The secret of message keys for an agent without a client secret. Pages loaded over plain HTTP have no `crypto.randomUUID`. */
  #messageSecret: string | undefined
  #credentials: Credentials | undefined
  #pendingRegistration: Promise<Credentials> | undefined
  /** Tokens for reading. */
  #agentTokenSource = this.#createAgentTokenSource()
  /** Tokens with `contact:write`, for messages on the person's behalf. */
  #personTokenSource = this.#createPersonTokenSource()

  /**
   * @param origin the service's origin, such as `https://plainpath.example`
   * @throws {TypeError} if
   * - `origin` is not an origin with `https:` or a loopback address,
   * - the credentials are for another origin,
   * - the credentials have no secret, and there are no `keys`, or
   * - `keys` are of an unsupported type
   */
  constructor(origin: string, { credentials, keys, timeoutMs = DEFAULT_TIMEOUT_MS }: PlainpathOptions = {}) {
    this.#origin = parseSecureOrigin(origin)
    if (credentials && credentials.origin !== this.#origin)
      throw new TypeError(`These credentials are for ${credentials.origin}, not for ${this.#origin}.`)
    if (credentials && !credentials.client_secret && !keys)
      throw new TypeError('These credentials have no secret: pass the keys of the agent too.')
    this.#credentials = credentials && createCredentials(this.#origin, credentials)
    this.#key = keys && new AgentKey(keys)
    this.#timeoutMs = timeoutMs
  }

  /**
   * The agent's credentials, from the constructor or from `register`. Undefined before the registration and after
   * `deleteRegistration`.
   */
  get credentials(): Credentials | undefined {
    return this.#credentials
  }

  /**
   * Answers a question from the guides, or refers the person to an attorney. Ask the person the questions in `check`, and then call
   * `ask` again with their answers as `facts`.
   */
  async ask(
    question: string,
    { facts, ...options }: CallOptions & { facts?: Facts | undefined } = {},
  ): Promise<Answer> {
    const url = this.#createUrl('/api/answers')
    const body = { question, ...(facts && { facts }) }
    return this.#sendReadRequest<Answer>({ method: 'POST', url, body }, options)
  }

  /** Searches the guides. Returns at most `limit` guides, the best match first. */
  async search(
    query: string,
    { limit, ...options }: CallOptions & { limit?: number | undefined } = {},
  ): Promise<FoundGuide[]> {
    const url = this.#createUrl('/api/guides', { q: query, limit })
    return (await this.#sendReadRequest<{ guides: FoundGuide[] }>({ method: 'GET', url }, options)).guides
  }

  /**
   * Reads a guide, with its sources.
   *
   * @param version an earlier version; by default the published version
   */
  async guide(
    slug: string,
    { version, ...options }: CallOptions & { version?: number | undefined } = {},
  ): Promise<Guide> {
    const url = this.#createUrl(`/api/guides/${encodeURIComponent(slug)}`, { version })
    return this.#sendReadRequest<Guide>({ method: 'GET', url }, options)
  }

  /**
   * Registers the agent, unless this object already has credentials. Register once for each person, and save `credentials`.
   * Concurrent calls share one request, with the first call's `registration`. Aborting a call does not abort the request.
   */
  async register(registration: Registration = {}, { signal }: CallOptions = {}): Promise<Credentials> {
    if (this.#credentials) return this.#credentials
    const startRegistration = () =>
      (this.#pendingRegistration ??= this.#register(registration).finally(() => {
        this.#pendingRegistration = undefined
      }))
    return waitUnlessAborted(startRegistration, signal)
  }

  /**
   * Asks a person by e-mail to confirm that the agent acts for them. Get their permission first. After the call, show them the
   * returned `match_phrase`: the page that the mailed link opens shows the same words, and then a code.
   */
  async beginVerification(email: string, options: CallOptions = {}): Promise<BegunVerification> {
    const body = { email }
    // The service learns about a URL client only from its first token request.
    if (this.#requireCredentials().client_id.startsWith('https:'))
      await waitUnlessAborted(() => this.#agentTokenSource.get(), options.signal)
    return this.#sendAsClient<BegunVerification>({ method: 'POST', path: '/api/agent/claim', body }, options)
  }

  /** Completes the verification with the code that the person read out. */
  async completeVerification(code: string, options: CallOptions = {}): Promise<void> {
    const request = { method: 'POST', path: '/api/agent/claim/complete', body: { otp: code } } as const
    await this.#sendAsClient(request, options)
    this.#personTokenSource = this.#createPersonTokenSource()
  }

  /**
   * Sends a message for the person, who must have confirmed the agent and agreed to the message. Show them `reply`.
   * The service accepts the same message once in 24 hours: later calls return the first result, or fail with `message-withdrawn`
   * if the message was withdrawn or erased. For an agent without a secret, this holds only for this object; otherwise pass
   * `idempotencyKey`.
   *
   * @param options.idempotencyKey identifies the message; by default, it is computed from the message. Pass a new key to send the
   *   same message again
   */
  async sendMessage(
    message: Message,
    { idempotencyKey, ...options }: CallOptions & { idempotencyKey?: string | undefined } = {},
  ): Promise<ReceivedMessage> {
    const getSecret = () =>
      this.#requireCredentials().client_secret ?? (this.#messageSecret ??= crypto.randomUUID())
    const headers = { 'Idempotency-Key': idempotencyKey ?? (await computeMessageKey(message, getSecret())) }
    const request = { method: 'POST', url: this.#createUrl('/api/contact'), headers, body: message } as const
    return this.#sendWithToken<ReceivedMessage>(this.#personTokenSource, request, options)
  }

  /** Reads the state of a message. */
  async messageStatus(id: string, options: CallOptions = {}): Promise<MessageState> {
    const request = { method: 'GET', url: this.#createMessageUrl(id) } as const
    return this.#sendWithToken<MessageState>(this.#personTokenSource, request, options)
  }

  /**
   * Withdraws a message. Fails with `message-being-delivered` while the message is being sent to staff (try again later), with
   * `already-delivered` afterwards, and with `message-may-be-delivered` if the message is erased, but staff may have it because a
   * delivery failed before.
   */
  async withdraw(id: string, options: CallOptions = {}): Promise<void> {
    const request = { method: 'DELETE', url: this.#createMessageUrl(id) } as const
    await this.#sendWithToken(this.#personTokenSource, request, options)
  }

  /** Deletes the registration. This also revokes its tokens and the person's confirmation. */
  async deleteRegistration(options: CallOptions = {}): Promise<void> {
    await this.#sendAsClient({ method: 'DELETE', path: '/api/agent' }, options)
    this.#credentials = undefined
    this.#agentTokenSource = this.#createAgentTokenSource()
    this.#personTokenSource = this.#createPersonTokenSource()
  }

  async #register(registration: Registration): Promise<Credentials> {
    const url = this.#createUrl('/api/agent/register')
    const jwks = this.#key && { keys: [await this.#key.exportPublicJwk()] }
    const body = { ...registration, ...(jwks && { jwks, dpop_bound_access_tokens: true }) }
    const request = { method: 'POST', url, body, isRepeatable: false } as const
    const agent = await this.#send<RegisteredAgent>(request, {})
    this.#credentials = createCredentials(this.#origin, agent)
    this.#agentTokenSource = this.#createAgentTokenSource()
    return this.#credentials
  }

  #createAgentTokenSource(): TokenSource {
    return new TokenSource(() => this.#requestToken({ grant_type: 'client_credentials' }))
  }

  #createPersonTokenSource(): TokenSource {
    return new TokenSource(async () => {
      const request = { method: 'POST', path: '/api/agent/assertion', isRepeatable: true } as const
      const { identity_assertion: assertion } = await this.#sendAsClient<Assertion>(request, {})
      return this.#requestToken({ grant_type: JWT_BEARER_GRANT_TYPE, assertion })
    })
  }

  async #requestToken(form: Record<string, string>): Promise<Token> {
    const body = new URLSearchParams(form)
    const request = { method: 'POST', path: '/oauth/token', body, isRepeatable: true } as const
    try {
      return await this.#sendAsClient<Token>(request, {})
    } catch (error) {
      // The first request has no nonce, and a later request may have an old nonce. The response has the next nonce.
      if (!(error instanceof PlainpathError) || error.code !== 'use-dpop-nonce') throw error
    }
    return this.#sendAsClient<Token>(request, {})
  }

  /**
   * Sends a request that needs no token. A registered agent sends its token anyway, to get its own, higher limits. If it gets no token, or
   * the API cannot check the token, the request is sent without one.
   */
  async #sendReadRequest<T>(request: TokenRequest, options: CallOptions): Promise<T> {
    return this.#sendWithToken<T>(this.#agentTokenSource, { ...request, isTokenOptional: true }, options)
  }

  /** Sends a request with a token. If the API refuses the token, requests a new token and tries once more. */
  async #sendWithToken<T>(
    tokenSource: TokenSource,
    { isTokenOptional = false, ...request }: TokenRequest,
    options: CallOptions,
  ): Promise<T> {
    const requestToken = () => (isTokenOptional ? tokenSource.getOptional() : tokenSource.get())
    const getToken = () => waitUnlessAborted<string | undefined>(requestToken, options.signal)
    const sendWith = async (token: string | undefined) => {
      const unsignedRequest = { ...request, isRepeatable: true }
      if (token === undefined) return this.#send<T>(unsignedRequest, options)
      const sign = async (unsigned: ApiRequest) => addAccessToken(unsigned, { token, key: this.#key })
      const handled = isTokenOptional ? { handledCode: UNCHECKED_TOKEN_CODE } : {}
      return this.#send<T>({ ...unsignedRequest, ...handled, sign }, options)
    }
    const token = await getToken()
    try {
      return await sendWith(token)
    } catch (error) {
      if (!(error instanceof PlainpathError) || token === undefined) throw error
      if (isTokenOptional && error.code === UNCHECKED_TOKEN_CODE) return sendWith(undefined)
      if (error.status !== 401) throw error
    }
    tokenSource.drop(token)
    return sendWith(await getToken())
  }

  async #sendAsClient<T>(
    { path, isRepeatable = false, ...request }: ClientRequest,
    options: CallOptions,
  ): Promise<T> {
    const credentials = this.#requireCredentials()
    return this.#send<T>(
      {
        ...request,
        url: this.#createUrl(path),
        isRepeatable,
        sign: (unsigned) =>
          addClientAuthentication(unsigned, { credentials, key: this.#key, nonce: this.#nonce }),
        onHeaders: (headers) => {
          this.#nonce = headers.get('DPoP-Nonce') ?? this.#nonce
        },
      },
      options,
    )
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

  #createMessageUrl(id: string): URL {
    return this.#createUrl(`/api/contact/${encodeURIComponent(id)}`)
  }

  #createUrl(path: string, query: Readonly<Record<string, string | number | undefined>> = {}): URL {
    const url = new URL(path, this.#origin)
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value))
    return url
  }
}

import { type DescribedLink, type DescribedRequest, readMarkdown } from './read-markdown.ts'

/** The rules by which the reader recognizes a request. They use its description and content, never its address. */
const RECOGNIZERS = {
  // A registration sends no credentials and no address of a person, unlike other requests that mention registering.
  register: ({ method, text, about }: DescribedRequest) =>
    method === 'POST' && /regist/i.test(about + text) && !/Basic|Bearer|-u |grant_type|"email"/.test(text),
  token: ({ text }: DescribedRequest) => text.includes('grant_type=client_credentials'),
  readGuide: ({ method, url, text, about }: DescribedRequest) =>
    method === 'GET' && /guide/i.test(about + text) && (url.includes('{slug}') || text.includes('Bearer')),
  ask: ({ method, text }: DescribedRequest) => method === 'POST' && /^ask\b|"question":/i.test(text),
  beginVerification: ({ method, text, about }: DescribedRequest) =>
    method === 'POST' && text.includes('"email"') && /confirm|verif/i.test(about + text),
  completeVerification: ({ method, text }: DescribedRequest) => method === 'POST' && text.includes('"otp"'),
  tokenForPerson: ({ text }: DescribedRequest) => /grant_type=\S*jwt-bearer/.test(text),
  sendMessage: ({ method, text }: DescribedRequest) =>
    method === 'POST' && text.includes('"topic"') && text.includes('"message"'),
  deleteRegistration: ({ method, text, about }: DescribedRequest) =>
    method === 'DELETE' && /\b(delete|end|leave)\b[^.]*\bregistration/i.test(`${about}\n${text}`),
} as const
type Purpose = keyof typeof RECOGNIZERS

/** Matches the sentences of links to follow, the most promising first. */
const PROMISING_WORDS = [/\bmessage/i, /verif|confirm/i, /\bregist/i]

/** An agent that learns every address from the documents that it reads, and counts its requests. */
export class DocumentReader {
  /** The requests and links in the documents that were read, in the order of reading. */
  readonly #requests: DescribedRequest[] = []
  readonly #links: DescribedLink[] = []
  readonly #readAddresses = new Set<string>()
  #requestCount = 0

  get requestCount(): number {
    return this.#requestCount
  }

  /** Reads a document, and stores its requests and links. */
  async read(address: string): Promise<void> {
    this.#readAddresses.add(address)
    const response = await this.#fetch(address, { headers: { accept: 'text/markdown' } })
    const { requests, links } = readMarkdown(await response.text())
    this.#requests.push(...requests)
    this.#links.push(...links)
  }

  /** Finds a request. Reads further documents, the most promising first, until one describes it. */
  async find(purpose: Purpose): Promise<{ method: string; url: string }> {
    for (;;) {
      const request = this.#requests.find((each) => RECOGNIZERS[purpose](each))
      if (request) return { ...request, url: request.url.replace('{slug}', this.#findFirstGuideSlug()) }
      const next = this.#findNextDocument()
      if (next === undefined) throw new Error(`no document says how to ${purpose}`)
      await this.read(next)
    }
  }

  /** Sends a request to the documented address. @returns the JSON of the response @throws for an unexpected status */
  async send(
    purpose: Purpose,
    expectedStatus: number,
    init: RequestInit = {},
  ): Promise<Record<string, unknown>> {
    const { method, url } = await this.find(purpose)
    const response = await this.#fetch(url, { ...init, method })
    const text = await response.text()
    if (response.status !== expectedStatus)
      throw new Error(`${purpose}: ${method} ${url} got ${response.status}: ${text}`)
    return (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>
  }

  async #fetch(address: string, init: RequestInit): Promise<Response> {
    this.#requestCount += 1
    return fetch(address, { ...init, redirect: 'error' })
  }

  /** Returns the last path segment of the first link under a heading about guides, as the documents instruct. */
  #findFirstGuideSlug(): string {
    const guide = this.#links.find(({ heading }) => /guides/i.test(heading))
    return new URL(guide?.href ?? 'about:none').pathname.split('/').at(-1) ?? ''
  }

  /** Returns the most promising link that was not read. Returns undefined if no link has a promising word. */
  #findNextDocument(): string | undefined {
    const rank = ({ sentence }: DescribedLink) =>
      PROMISING_WORDS.findIndex((pattern) => pattern.test(sentence))
    const unreadLinks = this.#links.filter((link) => rank(link) >= 0 && !this.#readAddresses.has(link.href))
    return unreadLinks.toSorted((one, other) => rank(one) - rank(other))[0]?.href
  }
}

import { type DescribedLink, type DescribedRequest, readMarkdown } from './read-markdown.ts'

/** How the reader recognizes a request: by what is said of it and sent with it, never by its address. */
const RECOGNIZED = {
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
type Wanted = keyof typeof RECOGNIZED

/** The words of links that are followed, the most promising first. */
const PROMISES = [/\bmessage/i, /verif|confirm/i, /\bregist/i]

/** An agent that knows one address, and learns all others from the documents that it reads. It counts its requests. */
export class DocumentReader {
  readonly #requests: DescribedRequest[] = []
  readonly #links: DescribedLink[] = []
  readonly #read = new Set<string>()
  #sent = 0

  get sent(): number {
    return this.#sent
  }

  async read(address: string): Promise<void> {
    this.#read.add(address)
    const response = await this.#fetch(address, { headers: { accept: 'text/markdown' } })
    const { requests, links } = readMarkdown(await response.text())
    this.#requests.push(...requests)
    this.#links.push(...links)
  }

  /** Finds where a request goes. Reads further documents, the most promising first, until one says it. */
  async find(purpose: Wanted): Promise<{ method: string; url: string }> {
    for (;;) {
      const request = this.#requests.find((each) => RECOGNIZED[purpose](each))
      if (request) return { ...request, url: request.url.replace('{slug}', this.#firstSlug()) }
      const next = this.#nextDocument()
      if (next === undefined) throw new Error(`no document says how to ${purpose}`)
      await this.read(next)
    }
  }

  /** Sends a request to where the documents say. @returns the JSON of the response @throws when the status is another */
  async send(purpose: Wanted, status: number, init: RequestInit = {}): Promise<Record<string, unknown>> {
    const { method, url } = await this.find(purpose)
    const response = await this.#fetch(url, { ...init, method })
    const text = await response.text()
    if (response.status !== status)
      throw new Error(`${purpose}: ${method} ${url} was ${response.status}: ${text}`)
    return (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>
  }

  async #fetch(address: string, init: RequestInit): Promise<Response> {
    this.#sent += 1
    return fetch(address, { ...init, redirect: 'error' })
  }

  /** The last part of the first link to a guide, as the documents say. */
  #firstSlug(): string {
    const guide = this.#links.find(({ heading }) => /guides/i.test(heading))
    return new URL(guide?.href ?? 'about:none').pathname.split('/').at(-1) ?? ''
  }

  #nextDocument(): string | undefined {
    const rank = ({ sentence }: DescribedLink) => PROMISES.findIndex((promise) => promise.test(sentence))
    const open = this.#links.filter((link) => rank(link) >= 0 && !this.#read.has(link.href))
    return open.toSorted((one, other) => rank(one) - rank(other))[0]?.href
  }
}

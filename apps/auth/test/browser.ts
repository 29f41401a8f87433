import { type HttpRequest, type HttpResponse, send } from './send.ts'

interface Cookie {
  readonly name: string
  readonly value: string
  readonly path: string
}

/** Sends requests with the cookies that earlier responses set, as a browser does; it follows no redirect. */
export class Browser {
  readonly cookies = new Map<string, Cookie>()
  readonly #url: string

  constructor(url: string) {
    this.#url = url
  }

  /** @param address a path, or a URL, of which only path and query count */
  async open(address: string, request: Partial<HttpRequest> = {}): Promise<HttpResponse> {
    const { pathname, search } = new URL(address, this.#url)
    const sent = [...this.cookies.values()].filter(
      ({ path }) => pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`),
    )
    const cookie = sent.map(({ name, value }) => `${name}=${value}`).join('; ')
    const answer = await send(this.#url, {
      ...request,
      path: pathname + search,
      headers: { accept: 'text/html,*/*;q=0.8', ...(cookie && { cookie }), ...request.headers },
    })
    for (const line of answer.headers.getSetCookie()) this.#keep(line, pathname)
    return answer
  }

  #keep(line: string, pathname: string): void {
    const [pair = '', ...attributes] = line.split('; ')
    const [name = '', value = ''] = pair.split('=')
    const attribute = (of: string) =>
      attributes.find((each) => each.toLowerCase().startsWith(`${of}=`))?.slice(of.length + 1)
    const path = attribute('path') ?? pathname
    const expires = attribute('expires')
    const key = `${name} ${path}`
    if (expires !== undefined && new Date(expires) <= new Date(0)) this.cookies.delete(key)
    else this.cookies.set(key, { name, value, path })
  }
}

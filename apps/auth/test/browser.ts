import { type HttpRequest, type HttpResponse, send } from './send.ts'

interface Cookie {
  readonly name: string
  readonly value: string
  readonly path: string
}

/** Sends requests with the cookies that earlier responses set, like a browser. It follows no redirects. */
export class Browser {
  readonly cookies = new Map<string, Cookie>()
  readonly #url: string

  constructor(url: string) {
    this.#url = url
  }

  /**
   * Sends a request, by default a GET, and stores the cookies of the response.
   *
   * @param address a path, or a URL of which only the path and the query are used
   */
  async open(address: string, request: Partial<HttpRequest> = {}): Promise<HttpResponse> {
    const { pathname, search } = new URL(address, this.#url)
    const matchingCookies = [...this.cookies.values()].filter(
      ({ path }) => pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`),
    )
    const cookie = matchingCookies.map(({ name, value }) => `${name}=${value}`).join('; ')
    const response = await send(this.#url, {
      ...request,
      path: pathname + search,
      headers: { accept: 'text/html,*/*;q=0.8', ...(cookie && { cookie }), ...request.headers },
    })
    for (const line of response.headers.getSetCookie()) this.#storeCookie(line, pathname)
    return response
  }

  #storeCookie(line: string, pathname: string): void {
    const [pair = '', ...attributes] = line.split('; ')
    const [name = '', value = ''] = pair.split('=')
    const findAttribute = (attributeName: string) =>
      attributes
        .find((each) => each.toLowerCase().startsWith(`${attributeName}=`))
        ?.slice(attributeName.length + 1)
    const path = findAttribute('path') ?? pathname
    const expires = findAttribute('expires')
    const key = `${name} ${path}`
    if (expires !== undefined && new Date(expires) <= new Date(0)) this.cookies.delete(key)
    else this.cookies.set(key, { name, value, path })
  }
}

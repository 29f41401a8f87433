import { type HttpRequest, type HttpResponse, send } from './send.ts'

interface Cookie {
  readonly name: string
  readonly value: string
  readonly path: string
}

/**
 * Sends requests with the cookies that earlier responses set. Matches cookies by path, and removes a cookie when its `Expires` is the
 * epoch or earlier. Ignores all other attributes, such as `Domain` and `Secure`. Follows no redirects.
 */
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
   * @param request.headers take precedence over the default headers. A `cookie` header replaces the stored cookies
   */
  async open(address: string, request: Omit<HttpRequest, 'path'> = {}): Promise<HttpResponse> {
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
    for (const setCookie of response.headers.getSetCookie()) this.#storeCookie(setCookie, pathname)
    return response
  }

  #storeCookie(setCookie: string, pathname: string): void {
    const [pair = '', ...attributes] = setCookie.split('; ')
    const [name = '', value = ''] = pair.split('=')
    const findAttribute = (attributeName: string) =>
      attributes
        .find((attribute) => attribute.toLowerCase().startsWith(`${attributeName}=`))
        ?.slice(attributeName.length + 1)
    const path = findAttribute('path') ?? pathname
    const expires = findAttribute('expires')
    const key = `${name} ${path}`
    if (expires !== undefined && new Date(expires) <= new Date(0)) this.cookies.delete(key)
    else this.cookies.set(key, { name, value, path })
  }
}

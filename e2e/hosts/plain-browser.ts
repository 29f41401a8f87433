import { createSender, form, type HttpResponse } from '../send.ts'

/** A page in a browser without scripts, after the browser followed the redirects of the service. */
export interface Page {
  readonly status: number
  readonly headers: Headers
  readonly html: string
  /** The path of the page, with its query. */
  readonly path: string
  /** The address outside the service to which the browser was redirected. The browser did not open it. */
  readonly externalTarget?: URL
  /** The target of every redirect, in order. */
  readonly redirects: readonly string[]
  /** The first heading. */
  readonly heading: string
  /** The text, without markup. */
  readonly text: string
}

/** The browser of one person, with its own IP address. It stores cookies, and sends the headers that browsers add. */
export interface PlainBrowser extends Disposable {
  /** Opens an address of the service: a path, or a URL, of which only the path and the query are used. */
  open(address: string | URL, headers?: Readonly<Record<string, string>>): Promise<Page>
  /**
   * Presses a button of a page: sends the button's form with `fields` filled in.
   *
   * @param button the beginning of the button's text
   * @param options.headers replaces headers that a browser would send, as if another site caused the request
   * @param options.followsRedirects false to stay at the first redirect
   * @throws {Error} if the page has no such button
   */
  press(
    page: Page,
    button: string,
    fields?: Readonly<Record<string, string>>,
    options?: { readonly headers?: Readonly<Record<string, string>>; readonly followsRedirects?: boolean },
  ): Promise<Page>
  /** Sends a form that no page offered. */
  post(
    path: string,
    fields: Readonly<Record<string, string>>,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Page>
  /** Copies all cookies of another browser, as a thief would. */
  takeCookies(other: PlainBrowser): void
  /** The cookies that have not been deleted. Their `Max-Age` and `Expires` are ignored, except for a deletion. */
  readonly cookies: readonly Cookie[]
}

interface Cookie {
  readonly name: string
  readonly value: string
  readonly path: string
  /** All attributes, in lower case. */
  readonly attributes: string
}

const MAX_REDIRECTS = 10

/**
 * Creates a browser.
 *
 * @param origin the address of the service, whose cookies it stores and whose redirects it follows
 * @param from an address in 127.0.0.0/8, so that one machine can act as many people
 */
export function createPlainBrowser(origin: string, from?: string): PlainBrowser {
  const sender = createSender(origin, from === undefined ? {} : { from })
  const jar = new Map<string, Cookie>()

  function storeCookies({ headers }: HttpResponse): void {
    for (const line of headers.getSetCookie()) {
      const cookie = parseCookie(line)
      const key = `${cookie.name} ${cookie.path}`
      if (cookie.value === '' || /expires=thu, 01 jan 1970|max-age=0\b/.test(cookie.attributes))
        jar.delete(key)
      else jar.set(key, cookie)
    }
  }
  function createCookieHeader(path: string): Record<string, string> {
    const pathname = path.split('?')[0] ?? ''
    const matchingCookies = [...jar.values()].filter(
      (each) => each.path === '/' || pathname === each.path || pathname.startsWith(`${each.path}/`),
    )
    return matchingCookies.length === 0
      ? {}
      : { cookie: matchingCookies.map(({ name, value }) => `${name}=${value}`).join('; ') }
  }

  async function request(
    startPath: string,
    {
      followsRedirects = true,
      ...init
    }: {
      readonly body?: string
      readonly headers: Readonly<Record<string, string>>
      readonly followsRedirects?: boolean
    },
  ): Promise<Page> {
    const redirects: string[] = []
    let path = startPath
    let content: { method: string; body?: string; headers: Readonly<Record<string, string>> } = {
      method: init.body === undefined ? 'GET' : 'POST',
      ...init,
    }
    for (;;) {
      const response = await sender.send({
        ...content,
        path,
        headers: { ...NAVIGATION_HEADERS, ...content.headers, ...createCookieHeader(path) },
      })
      storeCookies(response)
      const location = response.headers.get('location')
      if (location === null || response.status < 300 || response.status > 399)
        return toPage(response, path, redirects)
      redirects.push(location)
      const target = new URL(location, `${origin}${path}`)
      if (target.origin !== origin) return { ...toPage(response, path, redirects), externalTarget: target }
      if (!followsRedirects) return toPage(response, path, redirects)
      if (redirects.length > MAX_REDIRECTS) throw new Error(`redirected in circles: ${redirects.join(' ')}`)
      path = `${target.pathname}${target.search}`
      content = { method: 'GET', headers: {} }
    }
  }

  const post = (
    path: string,
    fields: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = {},
    followsRedirects = true,
  ) => {
    const { body, headers: formHeaders } = form(fields)
    return request(path, {
      body,
      headers: { ...createSameOriginHeaders(origin), ...formHeaders, ...headers },
      followsRedirects,
    })
  }
  return {
    get cookies() {
      return [...jar.values()]
    },
    open(address, headers = {}) {
      const { pathname, search } = new URL(address, origin)
      return request(`${pathname}${search}`, { headers })
    },
    press(page, button, fields = {}, { headers = {}, followsRedirects = true } = {}) {
      const offeredForm = findForm(page, button)
      return post(offeredForm.action, { ...offeredForm.fields, ...fields }, headers, followsRedirects)
    },
    post,
    takeCookies(other) {
      for (const cookie of other.cookies) jar.set(`${cookie.name} ${cookie.path}`, cookie)
    },
    [Symbol.dispose]: () => sender[Symbol.dispose](),
  }
}

const NAVIGATION_HEADERS = {
  accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-dest': 'document',
}
const createSameOriginHeaders = (origin: string) => ({ origin, 'sec-fetch-site': 'same-origin' })

function parseCookie(line: string): Cookie {
  const [pair = '', ...attributes] = line.split(/; */)
  const [name = '', ...valueParts] = pair.split('=')
  const path = attributes.find((each) => /^path=/i.test(each))?.slice('path='.length) ?? '/'
  return { name, value: valueParts.join('='), path, attributes: attributes.join('; ').toLowerCase() }
}

function toPage({ status, headers, text: html }: HttpResponse, path: string, redirects: string[]): Page {
  return {
    status,
    headers,
    html,
    path,
    redirects,
    heading: toPlainText(/<h1[^>]*>([\s\S]*?)<\/h1>/.exec(html)?.[1] ?? ''),
    text: toPlainText(/<main[^>]*>([\s\S]*?)<\/main>/.exec(html)?.[1] ?? html),
  }
}

/** Finds the form with a button, and the fields that the button sends: hidden and filled ones, and its own value. */
export function findForm(
  page: Page,
  button: string,
): { readonly action: string; readonly fields: Readonly<Record<string, string>> } {
  const buttons: string[] = []
  for (const [, opening = '', content = ''] of page.html.matchAll(/<form([^>]*)>([\s\S]*?)<\/form>/g)) {
    const fields: Record<string, string> = {}
    for (const [, attributes = ''] of content.matchAll(/<input([^>]*)>/g)) {
      const name = readAttribute(attributes, 'name')
      const isChosen = !/type="(?:radio|checkbox)"/.test(attributes) || /\schecked\b/.test(attributes)
      if (name !== undefined && isChosen) fields[name] = readAttribute(attributes, 'value') ?? ''
    }
    for (const [, attributes = '', inner = ''] of content.matchAll(/<button([^>]*)>([\s\S]*?)<\/button>/g)) {
      const text = toPlainText(inner)
      buttons.push(text)
      if (!text.startsWith(button)) continue
      const name = readAttribute(attributes, 'name')
      if (name !== undefined) fields[name] = readAttribute(attributes, 'value') ?? ''
      return { action: readAttribute(opening, 'action') ?? page.path, fields }
    }
  }
  throw new Error(
    `no button "${button}" at ${page.path} (${page.status} ${page.heading}), but ${buttons.join(', ')}`,
  )
}

const readAttribute = (attributes: string, name: string): string | undefined => {
  const value = new RegExp(`\\s${name}="([^"]*)"`).exec(attributes)?.[1]
  return value === undefined ? undefined : unescapeHtml(value)
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
const unescapeHtml = (text: string) =>
  text.replaceAll(/&(amp|lt|gt|quot|#39);/g, (_match, name: string) => ENTITIES[name] ?? '')

const toPlainText = (html: string) =>
  unescapeHtml(html.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')).trim()

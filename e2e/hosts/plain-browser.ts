import { createSender, form, type HttpResponse } from '../send.ts'

/** A page as a browser without scripts has it after it followed the redirects of the service. */
export interface Page {
  readonly status: number
  readonly headers: Headers
  readonly html: string
  /** The path of the page, with its query. */
  readonly path: string
  /** The address elsewhere that the service sent the browser to, which was not opened. */
  readonly left?: URL
  /** Every address that a redirect led to, in order. */
  readonly redirects: readonly string[]
  /** The first heading. */
  readonly heading: string
  /** The text, without markup. */
  readonly text: string
}

/** A browser of one person, on an address of its own. It keeps cookies, and sends what browsers add to requests. */
export interface PlainBrowser extends Disposable {
  /** Opens an address of the service: a path, or a URL of which the path is used. */
  open(address: string | URL, headers?: Readonly<Record<string, string>>): Promise<Page>
  /**
   * Presses a button of a page, as the person who filled in its form.
   *
   * @param button the beginning of the button's text
   * @param options.headers replace those of a browser, to send what only another site could cause
   * @throws {Error} when the page has no such button
   */
  press(
    page: Page,
    button: string,
    fields?: Readonly<Record<string, string>>,
    options?: { readonly headers?: Readonly<Record<string, string>> },
  ): Promise<Page>
  /** Sends a form that no page offered. */
  post(
    path: string,
    fields: Readonly<Record<string, string>>,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Page>
  /** Copies all cookies of another browser, as a thief would. */
  takeCookies(other: PlainBrowser): void
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
 * @param origin the address of the service, whose cookies and redirects it follows
 * @param from any of 127.0.0.0/8, so that one machine can be many people
 */
export function openPlainBrowser(origin: string, from?: string): PlainBrowser {
  const sender = createSender(origin, from === undefined ? {} : { from })
  const jar = new Map<string, Cookie>()

  function keep({ headers }: HttpResponse): void {
    for (const line of headers.getSetCookie()) {
      const cookie = parseCookie(line)
      const key = `${cookie.name} ${cookie.path}`
      if (cookie.value === '' || /expires=thu, 01 jan 1970|max-age=0\b/.test(cookie.attributes))
        jar.delete(key)
      else jar.set(key, cookie)
    }
  }
  function cookieHeader(path: string): Record<string, string> {
    const pathname = path.split('?')[0] ?? ''
    const matching = [...jar.values()].filter(
      (each) => each.path === '/' || pathname === each.path || pathname.startsWith(`${each.path}/`),
    )
    return matching.length === 0
      ? {}
      : { cookie: matching.map(({ name, value }) => `${name}=${value}`).join('; ') }
  }

  async function request(
    first: string,
    how: { readonly body?: string; readonly headers: Readonly<Record<string, string>> },
  ): Promise<Page> {
    const redirects: string[] = []
    let path = first
    let sent: { method: string; body?: string; headers: Readonly<Record<string, string>> } = {
      method: how.body === undefined ? 'GET' : 'POST',
      ...how,
    }
    for (;;) {
      const response = await sender.send({
        ...sent,
        path,
        headers: { ...NAVIGATION, ...sent.headers, ...cookieHeader(path) },
      })
      keep(response)
      const location = response.headers.get('location')
      if (location === null || response.status < 300 || response.status > 399)
        return toPage(response, path, redirects)
      redirects.push(location)
      const target = new URL(location, `${origin}${path}`)
      if (target.origin !== origin) return { ...toPage(response, path, redirects), left: target }
      if (redirects.length > MAX_REDIRECTS) throw new Error(`redirected in circles: ${redirects.join(' ')}`)
      path = `${target.pathname}${target.search}`
      sent = { method: 'GET', headers: {} }
    }
  }

  const post: PlainBrowser['post'] = (path, fields, headers = {}) => {
    const { body, headers: type } = form(fields)
    return request(path, { body, headers: { ...sameOrigin(origin), ...type, ...headers } })
  }
  return {
    get cookies() {
      return [...jar.values()]
    },
    open(address, headers = {}) {
      const { pathname, search } = new URL(address, origin)
      return request(`${pathname}${search}`, { headers })
    },
    press(page, button, fields = {}, { headers = {} } = {}) {
      const found = findForm(page, button)
      return post(found.action, { ...found.fields, ...fields }, headers)
    },
    post,
    takeCookies(other) {
      for (const cookie of other.cookies) jar.set(`${cookie.name} ${cookie.path}`, cookie)
    },
    [Symbol.dispose]: () => sender[Symbol.dispose](),
  }
}

const NAVIGATION = {
  accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-dest': 'document',
}
const sameOrigin = (origin: string) => ({ origin, 'sec-fetch-site': 'same-origin' })

function parseCookie(line: string): Cookie {
  const [pair = '', ...attributes] = line.split(/; */)
  const [name = '', ...value] = pair.split('=')
  const path = attributes.find((each) => /^path=/i.test(each))?.slice('path='.length) ?? '/'
  return { name, value: value.join('='), path, attributes: attributes.join('; ').toLowerCase() }
}

function toPage({ status, headers, text: html }: HttpResponse, path: string, redirects: string[]): Page {
  return {
    status,
    headers,
    html,
    path,
    redirects,
    heading: plainText(/<h1[^>]*>([\s\S]*?)<\/h1>/.exec(html)?.[1] ?? ''),
    text: plainText(/<main[^>]*>([\s\S]*?)<\/main>/.exec(html)?.[1] ?? html),
  }
}

/** Finds the form with a button, and what it sends: its hidden and filled fields, and the button's own value. */
export function findForm(
  page: Page,
  button: string,
): { readonly action: string; readonly fields: Readonly<Record<string, string>> } {
  const buttons: string[] = []
  for (const [, opening = '', content = ''] of page.html.matchAll(/<form([^>]*)>([\s\S]*?)<\/form>/g)) {
    const fields: Record<string, string> = {}
    for (const [, attributes = ''] of content.matchAll(/<input([^>]*)>/g)) {
      const name = attribute(attributes, 'name')
      const isChosen = !/type="(?:radio|checkbox)"/.test(attributes) || /\schecked\b/.test(attributes)
      if (name !== undefined && isChosen) fields[name] = attribute(attributes, 'value') ?? ''
    }
    for (const [, attributes = '', inner = ''] of content.matchAll(/<button([^>]*)>([\s\S]*?)<\/button>/g)) {
      const text = plainText(inner)
      buttons.push(text)
      if (!text.startsWith(button)) continue
      const name = attribute(attributes, 'name')
      if (name !== undefined) fields[name] = attribute(attributes, 'value') ?? ''
      return { action: attribute(opening, 'action') ?? page.path, fields }
    }
  }
  throw new Error(
    `no button "${button}" at ${page.path} (${page.status} ${page.heading}), but ${buttons.join(', ')}`,
  )
}

const attribute = (attributes: string, name: string): string | undefined => {
  const value = new RegExp(`\\s${name}="([^"]*)"`).exec(attributes)?.[1]
  return value === undefined ? undefined : unescape(value)
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
const unescape = (text: string) =>
  text.replaceAll(/&(amp|lt|gt|quot|#39);/g, (_all, name: string) => ENTITIES[name] ?? '')

const plainText = (html: string) => unescape(html.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')).trim()

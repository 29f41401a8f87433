import { type Html, html } from './html.ts'

/** The places of the navigation. */
export type Place = 'guides' | 'ask' | 'help' | 'developers'

/** A link to a page of ours. */
export interface PageLink {
  /** A path, without the origin. */
  readonly href: string
  readonly text: string
}

/** A link to a page in another language than the page that links it. */
export interface LanguageLink extends PageLink {
  /** BCP 47. */
  readonly lang: string
}

interface Frame {
  /** BCP 47, of the page. */
  readonly lang: string
  /** The address that paper shows, without query and fragment; the origin on pages that nobody finds, since it may contain anything. */
  readonly address: string
  readonly path: string
  readonly place?: Place | undefined
  readonly otherLanguage?: LanguageLink | undefined
  /** What was searched for, which the search field keeps. */
  readonly search?: string | undefined
}

const SPANISH_HELP: LanguageLink = { lang: 'es', href: '/es/obtener-ayuda', text: 'Ayuda en español' }

const ENGLISH = {
  lang: 'en',
  skip: 'Skip to the text',
  search: 'Search the guides',
  searchHint: 'Search',
  button: 'Search',
  navigation: 'Main',
  breadcrumbs: 'You are here',
  home: 'Home',
  places: { guides: 'Guides', ask: 'Ask', help: 'Get help', developers: 'For developers' },
  inEnglish: '',
  what: 'Plainpath is not a law firm and not the government. It gives information, not legal advice.',
  people: 'About Plainpath',
  machines: 'For developers and AI software',
  contact: 'Write to us',
  waitlist: 'Join the waitlist',
  privacy: 'Privacy',
  terms: 'Terms',
  changelog: 'Changelog',
  connect: 'Connect a chat app',
  server: 'MCP server',
  reference: 'API reference',
  register: 'How an agent registers',
  overview: 'Overview for agents (llms.txt)',
  problems: 'Errors',
} as const

type Words = Readonly<Record<Exclude<keyof typeof ENGLISH, 'places'>, string>> & {
  readonly places: Readonly<Record<Place, string>>
}

const SPANISH: Words = {
  lang: 'es',
  skip: 'Ir al contenido',
  search: 'Buscar en las guías (en inglés)',
  searchHint: 'Buscar en inglés',
  button: 'Buscar',
  navigation: 'Principal',
  breadcrumbs: 'Usted está aquí',
  home: 'Inicio',
  places: {
    guides: 'Guías',
    ask: 'Preguntar',
    help: 'Obtener ayuda',
    developers: 'Desarrolladores',
  },
  inEnglish: '(en inglés)',
  what: 'Plainpath no es un bufete de abogados ni es el gobierno. Da información, no asesoría legal.',
  people: 'Acerca de Plainpath (en inglés)',
  machines: 'Para desarrolladores y software de IA (en inglés)',
  contact: 'Escríbanos',
  waitlist: 'Lista de espera',
  privacy: 'Privacidad',
  terms: 'Términos de uso',
  changelog: 'Cambios',
  connect: 'Conectar una aplicación de chat',
  server: 'Servidor MCP',
  reference: 'Referencia de la API',
  register: 'Cómo se registra un agente',
  overview: 'Resumen para agentes (llms.txt)',
  problems: 'Errores',
}

/** Where each place leads. In Spanish there is one page, so only `help` differs. */
const PLACES: Readonly<Record<Place, string>> = {
  guides: '/guides',
  ask: '/ask',
  help: '/get-help',
  developers: '/docs',
}

const wordsFor = (lang: string): Words => (/^es\b/i.test(lang) ? SPANISH : ENGLISH)

/** The link that skips the header, for the first place in the body. */
export const skipLink = ({ lang }: Pick<Frame, 'lang'>): Html =>
  html`<a class="skip" href="#main">${wordsFor(lang).skip}</a>`

/** The header of every page: the name, Spanish help, the search and the navigation. */
export function siteHeader({
  lang,
  address,
  path,
  place,
  otherLanguage = SPANISH_HELP,
  search = '',
}: Frame): Html {
  const words = wordsFor(lang)
  const items = (Object.entries(PLACES) as [Place, string][]).map(([each, english]) => {
    const href = each === 'help' && words === SPANISH ? SPANISH_HELP.href : english
    const text = html`${words.places[each]}${each !== 'help' && words.inEnglish !== '' && html` <small>${words.inEnglish}</small>`}`
    return html`<li class="to-${each}">${place === each ? currentLink(href, text, path) : html`<a href="${href}">${text}</a>`}</li>\n`
  })
  return html`<header class="site" lang="${words.lang}" dir="ltr">
<p class="printed">${address}</p>
<div class="top">
<a class="name" href="/">Plainpath</a>
<a class="language" href="${otherLanguage.href}" lang="${otherLanguage.lang}" hreflang="${otherLanguage.lang}">${languageName(otherLanguage.text)}</a>
<form class="find" role="search" action="/search" method="get">
<label class="unseen" for="site-search">${words.search}</label>
<input id="site-search" name="q" type="search" maxlength="200" autocomplete="off" placeholder="${words.searchHint}" value="${search}">
<button type="submit">${words.button}</button>
</form>
</div>
<nav class="places" aria-label="${words.navigation}">
<ul>
${items}</ul>
</nav>
</header>`
}

/** The last word is the language. A narrow screen shows it alone. */
function languageName(text: string): Html {
  const at = text.lastIndexOf(' ') + 1
  return html`<span class="wide">${text.slice(0, at)}</span>${text.slice(at)}`
}

/** `page` for the page itself, `true` for a page below the place. */
const currentLink = (href: string, text: Html, path: string) =>
  html`<a href="${href}" aria-current="${href === path ? 'page' : 'true'}">${text}</a>`

/** The pages above this one, from the home page down. The last item is the page itself, without a link. */
export function breadcrumbs(
  links: readonly PageLink[],
  { lang, title }: { lang: string; title: string },
): Html {
  const words = wordsFor(lang)
  return html`<nav class="crumbs" aria-label="${words.breadcrumbs}">
<ol>
${[{ href: '/', text: words.home }, ...links].map(({ href, text }) => html`<li><a href="${href}">${text}</a></li>\n`)}<li><span aria-current="page">${title}</span></li>
</ol>
</nav>`
}

/** The footer of every page. */
export function siteFooter({ lang }: Pick<Frame, 'lang'>): Html {
  const words = wordsFor(lang)
  const people = [
    { href: '/contact', text: words.contact },
    { href: '/connect', text: words.connect },
    { href: '/waitlist', text: words.waitlist },
    { href: '/privacy', text: words.privacy },
    { href: '/terms', text: words.terms },
    { href: '/changelog', text: words.changelog },
  ]
  const machines = [
    { href: '/docs', text: words.reference },
    { href: '/auth.md', text: words.register },
    { href: '/mcp.md', text: words.server },
    { href: '/llms.txt', text: words.overview },
    { href: '/problems', text: words.problems },
  ]
  return html`<footer class="site" lang="${words.lang}" dir="ltr">
<p>${words.what}</p>
<div class="links">
${linkGroup('about', words.people, people)}
${linkGroup('developers', words.machines, machines)}
</div>
</footer>`
}

const linkGroup = (name: string, heading: string, links: readonly PageLink[]) =>
  html`<nav aria-labelledby="site-${name}">
<h2 id="site-${name}">${heading}</h2>
<ul>
${links.map(({ href, text }) => html`<li><a href="${href}">${text}</a></li>\n`)}</ul>
</nav>`

import { type Html, html } from './html.ts'

/** An entry of the navigation. */
export type NavigationEntry = 'guides' | 'ask' | 'help' | 'developers'

/** A link to one of our pages. */
export interface PageLink {
  /** A path, without the origin. */
  readonly href: string
  readonly text: string
}

/** A link to a page in another language. */
export interface LanguageLink extends PageLink {
  /** A BCP 47 tag. */
  readonly lang: string
}

interface Frame {
  /** The page's language as a BCP 47 tag. */
  readonly lang: string
  /** The address shown on paper, without query and fragment. For `noindex` pages only the origin: their paths may contain anything. */
  readonly address: string
  readonly path: string
  readonly navigationEntry?: NavigationEntry | undefined
  readonly otherLanguage?: LanguageLink | undefined
  /** The search terms, for the search field. */
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
  navigationEntries: { guides: 'Guides', ask: 'Ask', help: 'Get help', developers: 'For developers' },
  inEnglish: '',
  disclaimer: 'Plainpath is not a law firm and not the government. It gives information, not legal advice.',
  aboutHeading: 'About Plainpath',
  developersHeading: 'For developers and AI software',
  contact: 'Write to us',
  waitlist: 'Join the waitlist',
  privacy: 'Privacy',
  terms: 'Terms',
  changelog: 'API changes',
  connect: 'Connect a chat app',
  server: 'MCP server',
  reference: 'API reference',
  register: 'How an agent registers',
  overview: 'Overview for agents (llms.txt)',
  problems: 'Errors',
} as const

type FrameWords = Readonly<Record<Exclude<keyof typeof ENGLISH, 'navigationEntries'>, string>> & {
  readonly navigationEntries: Readonly<Record<NavigationEntry, string>>
}

const SPANISH: FrameWords = {
  lang: 'es',
  skip: 'Ir al contenido',
  search: 'Buscar en las guías (en inglés)',
  searchHint: 'Buscar en inglés',
  button: 'Buscar',
  navigation: 'Principal',
  breadcrumbs: 'Usted está aquí',
  home: 'Inicio',
  navigationEntries: {
    guides: 'Guías',
    ask: 'Preguntar',
    help: 'Ayuda',
    developers: 'API',
  },
  inEnglish: '(en inglés)',
  disclaimer: 'Plainpath no es un bufete de abogados ni es el gobierno. Da información, no asesoría legal.',
  aboutHeading: 'Acerca de Plainpath (en inglés)',
  developersHeading: 'Para desarrolladores y software de IA (en inglés)',
  contact: 'Escríbanos',
  waitlist: 'Lista de espera',
  privacy: 'Privacidad',
  terms: 'Términos de uso',
  changelog: 'Cambios de la API',
  connect: 'Conectar una aplicación de chat',
  server: 'Servidor MCP',
  reference: 'Referencia de la API',
  register: 'Cómo se registra un agente',
  overview: 'Resumen para agentes (llms.txt)',
  problems: 'Errores',
}

/** The path of each navigation entry. Only `help` differs in Spanish, because there is only one Spanish page. */
const NAVIGATION_PATHS: Readonly<Record<NavigationEntry, string>> = {
  guides: '/guides',
  ask: '/ask',
  help: '/get-help',
  developers: '/docs',
}

/** Returns the Spanish words for any tag of Spanish, such as `es` or `es-MX`, and the English words for all other languages. */
const getWords = (lang: string): FrameWords => (/^es\b/i.test(lang) ? SPANISH : ENGLISH)

/** Renders the link that skips the header. It must come first in the body. */
export const renderSkipLink = ({ lang }: Pick<Frame, 'lang'>): Html =>
  html`<a class="skip" href="#main">${getWords(lang).skip}</a>`

/** Renders the header of every page: the name, a link to another language, the search and the navigation. */
export function renderSiteHeader({
  lang,
  address,
  path,
  navigationEntry,
  otherLanguage = SPANISH_HELP,
  search = '',
}: Frame): Html {
  const words = getWords(lang)
  const listItems = (Object.entries(NAVIGATION_PATHS) as [NavigationEntry, string][]).map(
    ([entry, englishPath]) => {
      const href = entry === 'help' && words === SPANISH ? SPANISH_HELP.href : englishPath
      const isForReaders = entry === 'guides' || entry === 'ask'
      const text = html`${words.navigationEntries[entry]}${isForReaders && words.inEnglish !== '' && html` <small>${words.inEnglish}</small>`}`
      return html`<li class="to-${entry}">${navigationEntry === entry ? renderCurrentLink(href, text, path) : html`<a href="${href}">${text}</a>`}</li>\n`
    },
  )
  return html`<header class="site" lang="${words.lang}" dir="ltr">
<p class="printed">${address}</p>
<div class="top">
<a class="name" href="/">Plainpath</a>
<a class="language" href="${otherLanguage.href}" lang="${otherLanguage.lang}" hreflang="${otherLanguage.lang}">${renderLanguageName(otherLanguage.text)}</a>
<form class="find" role="search" action="/search" method="get">
<label class="unseen" for="site-search">${words.search}</label>
<input id="site-search" name="q" type="search" maxlength="200" autocomplete="off" placeholder="${words.searchHint}" value="${search}">
<button type="submit">${words.button}</button>
</form>
</div>
<nav class="places" aria-label="${words.navigation}">
<ul>
${listItems}</ul>
</nav>
</header>`
}

/** Renders the text of a language link. A narrow screen shows only its first word: `Ayuda` or `Help`. */
function renderLanguageName(text: string): Html {
  const firstWordEnd = text.indexOf(' ')
  return html`${text.slice(0, firstWordEnd)}<span class="wide">${text.slice(firstWordEnd)}</span>`
}

/** Renders the navigation link of the part of the site to which a page belongs. On the linked page itself, `aria-current` is `page`. */
const renderCurrentLink = (href: string, text: Html, path: string) =>
  html`<a href="${href}" aria-current="${href === path ? 'page' : 'true'}">${text}</a>`

/** Renders links from the home page down to this page. The last item is the page itself, without a link. */
export function renderBreadcrumbs(
  links: readonly PageLink[],
  { lang, title }: { lang: string; title: string },
): Html {
  const words = getWords(lang)
  return html`<nav class="crumbs" aria-label="${words.breadcrumbs}">
<ol>
${[{ href: '/', text: words.home }, ...links].map(({ href, text }) => html`<li><a href="${href}">${text}</a></li>\n`)}<li><span aria-current="page">${title}</span></li>
</ol>
</nav>`
}

/** Renders the footer of every page. */
export function renderSiteFooter({ lang }: Pick<Frame, 'lang'>): Html {
  const words = getWords(lang)
  const aboutLinks = [
    { href: '/contact', text: words.contact },
    { href: '/connect', text: words.connect },
    { href: '/waitlist', text: words.waitlist },
    { href: '/privacy', text: words.privacy },
    { href: '/terms', text: words.terms },
  ]
  const developerLinks = [
    { href: '/docs', text: words.reference },
    { href: '/auth.md', text: words.register },
    { href: '/mcp.md', text: words.server },
    { href: '/llms.txt', text: words.overview },
    { href: '/problems', text: words.problems },
    { href: '/changelog', text: words.changelog },
  ]
  return html`<footer class="site" lang="${words.lang}" dir="ltr">
<p>${words.disclaimer}</p>
<div class="links">
${renderLinkGroup('about', words.aboutHeading, aboutLinks)}
${renderLinkGroup('developers', words.developersHeading, developerLinks)}
</div>
</footer>`
}

const renderLinkGroup = (name: string, heading: string, links: readonly PageLink[]) =>
  html`<nav aria-labelledby="site-${name}">
<h2 id="site-${name}">${heading}</h2>
<ul>
${links.map(({ href, text }) => html`<li><a href="${href}">${text}</a></li>\n`)}</ul>
</nav>`

import { renderContactForm } from './form-pages.ts'
import { ENGLISH, GET_HELP, type HelpWords, SPANISH, TRANSLATION_DATE } from './get-help-words.ts'
import { type Html, html } from './html.ts'
import { keepTogether } from './keep-together.ts'

/** Renders the body of `/get-help`, with the form to our staff. */
export const renderGetHelpPage = (): Html => renderHelpBody(ENGLISH, renderContactForm({ topic: 'attorney' }))

/** Renders the body of the Spanish page. It states the date of the translation, and links to the form, which is in English. */
export const renderSpanishHelpPage = (): Html =>
  renderHelpBody(
    SPANISH,
    html`<p><a href="/contact" hreflang="en">Formulario para escribirnos (en inglés)</a></p>`,
    html`<p class="facts">Texto fijo del <time datetime="${TRANSLATION_DATE}">${formatSpanishDate(TRANSLATION_DATE)}</time>, traducido de nuestra <a href="/get-help" hreflang="en">página en inglés</a>, que puede ser más reciente. Las demás páginas, incluso las que enlazamos, están en inglés.</p>`,
  )

/** The path, the title and the description of the help page in each language, with a link to the other language. */
export const HELP_PAGES = {
  en: {
    path: GET_HELP.en,
    lang: 'en',
    title: ENGLISH.title,
    description: ENGLISH.description,
    otherLanguage: { lang: 'es', href: GET_HELP.es, text: 'Ayuda en español' },
  },
  es: {
    path: GET_HELP.es,
    lang: 'es',
    title: SPANISH.title,
    description: SPANISH.description,
    otherLanguage: { lang: 'en', href: GET_HELP.en, text: 'Help in English' },
  },
} as const

/** Formats a date such as `2026-11-27` as `27 de noviembre de 2026`. */
const formatSpanishDate = (date: string): string =>
  new Intl.DateTimeFormat('es', { dateStyle: 'long', timeZone: 'UTC' }).format(new Date(date))

/** @param translationNote shown after the urgent lines; absent on the English page */
function renderHelpBody(words: HelpWords, form: Html, translationNote?: Html): Html {
  const { urgent, lawyers, bring, fraud, write } = words
  return html`<div class="help-page">
<h1>${words.title}</h1>
<p class="ways"><a href="#detained">${words.jumps.detained}</a> <a href="#hearing">${words.jumps.hearing}</a> <a href="#lawyers">${words.jumps.lawyers}</a></p>
<section class="attorney" aria-labelledby="urgent">
<h2 id="urgent">${urgent.heading}</h2>
<p><strong>${urgent.hint}</strong></p>
<ul class="lines">
${urgent.lines.map(({ id, situation, hint, phone, text }) => html`<li id="${id}"><h3>${situation}</h3>\n${hint && html`<p>${hint}</p>\n`}<p><a class="phone" href="${`tel:${phone}`}">${phone}</a></p>\n${text && html`<p>${text}</p>`}</li>\n`)}</ul>
</section>
${translationNote}
<section aria-labelledby="lawyers">
<h2 id="lawyers">${lawyers.heading}</h2>
<p>${lawyers.advisers}</p>
<h3>${lawyers.placesHeading}</h3>
<ol>
${lawyers.places.map(({ situation, text }) => html`<li><strong>${situation}:</strong> ${text}</li>\n`)}</ol>
<h3>${lawyers.callHeading}</h3>
${renderList(lawyers.call)}
<h3>${lawyers.checkHeading}</h3>
${renderList(lawyers.check)}
</section>
<div class="pair">
<section aria-labelledby="bring">
<h2 id="bring">${bring.heading}</h2>
${renderList(bring.items)}
</section>
<section aria-labelledby="fraud">
<h2 id="fraud">${fraud.heading}</h2>
${renderList(fraud.signs)}
<p>${fraud.whatToDo}</p>
</section>
</div>
<section aria-labelledby="write">
<h2 id="write">${write.heading}</h2>
<p>${write.text}</p>
${form}
</section>
<p class="facts">${words.sources}</p>
</div>`
}

const renderList = (items: readonly (Html | string)[]) => html`<ul>
${items.map((item) => html`<li>${typeof item === 'string' ? keepTogether(item) : item}</li>\n`)}</ul>`

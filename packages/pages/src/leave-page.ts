import { type Html, html } from './html.ts'
import { PAGE_CSP } from './render-page.ts'
import { readScript, scriptElement } from './served-script.ts'

/** Where people go who leave in a hurry. It says nothing of us, loads fast, and is a likely page to be on. */
export const NEUTRAL_SITE = 'https://www.wikipedia.org/'

export const LEAVE_SCRIPT = readScript('leave')

/** The headers of each page with `leavePage()`: no browser stores it, and its one script may run. */
export const LEAVE_HEADERS: Readonly<Record<string, string>> = Object.freeze({
  'cache-control': 'no-store',
  'content-security-policy': `${PAGE_CSP}; script-src 'self'`,
})

const ENGLISH = {
  exit: 'Quick exit',
  safety: 'Your safety',
  leave: 'Leave this page',
  twoMore: 'Press Shift 2 more times to leave',
  oneMore: 'Press Shift once more to leave',
  leads: 'Opens Wikipedia in place of this page',
  risk: 'Does somebody else use this device? Clear your history',
  seen: 'Somebody who uses your phone or computer can see which pages you opened. We store nothing on it, but your browser lists your visit.',
  clear: 'To clear it: open the menu of your browser, choose History, and delete the visits to this site.',
  only: 'Delete only these visits. An empty history can look suspicious.',
  next: 'Next time, use a private (incognito) window, or a phone that nobody else checks.',
  fast: 'To leave fast, press “Leave this page”.',
  keys: 'You can also press the Shift key three times.',
} as const

const SPANISH: Readonly<Record<keyof typeof ENGLISH, string>> = {
  exit: 'Salida rápida',
  safety: 'Su seguridad',
  leave: 'Salir de esta página',
  twoMore: 'Presione Shift 2 veces más para salir',
  oneMore: 'Presione Shift una vez más para salir',
  leads: 'Abre Wikipedia en lugar de esta página',
  risk: '¿Otra persona usa este dispositivo? Borre el historial',
  seen: 'Quien use su teléfono o su computadora puede ver qué páginas abrió usted. Nosotros no guardamos nada en el dispositivo, pero su navegador registra la visita.',
  clear: 'Para borrarla: abra el menú de su navegador, elija Historial y borre las visitas a este sitio.',
  only: 'Borre solo estas visitas. Un historial vacío puede parecer sospechoso.',
  next: 'La próxima vez, use una ventana privada (de incógnito) o un teléfono que nadie más revise.',
  fast: 'Para salir rápido, presione “Salir de esta página”.',
  keys: 'También puede presionar tres veces la tecla Shift.',
}

/**
 * The quick exit, for the slot under the header. The link works without scripts. With them, the page leaves the history,
 * too, and three presses of Shift do the same. Send the page with `LEAVE_HEADERS`.
 */
export function leavePage(language: 'en' | 'es' = 'en'): Html {
  const words = language === 'es' ? SPANISH : ENGLISH
  return html`<aside class="leave" aria-label="${words.exit}">
<a href="${NEUTRAL_SITE}" rel="noreferrer nofollow" title="${words.leads}">${words.leave}</a>
<span role="status" data-one-more="${words.oneMore}" data-two-more="${words.twoMore}"></span>
</aside>
<aside class="risk" aria-label="${words.safety}">
<details>
<summary>${words.risk}</summary>
<ul>
<li>${words.fast}<span hidden> ${words.keys}</span></li>
<li>${words.seen}</li>
<li>${words.clear}</li>
<li>${words.only}</li>
<li>${words.next}</li>
</ul>
</details>
</aside>
${scriptElement(LEAVE_SCRIPT)}`
}

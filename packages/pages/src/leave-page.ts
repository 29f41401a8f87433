import { type Html, html } from './html.ts'
import { PAGE_CSP } from './render-page.ts'
import { readScript, renderScriptElement } from './served-script.ts'

/** The site that the quick exit opens. It loads fast, does not mention us, and many people have it open. */
export const NEUTRAL_SITE = 'https://www.wikipedia.org/'

/** The script of every page with a quick exit. */
export const LEAVE_SCRIPT = readScript('leave')

/** The headers of every page with a quick exit. They prevent browsers from storing the page, and allow its one script. */
export const LEAVE_HEADERS: Readonly<Record<string, string>> = Object.freeze({
  'cache-control': 'no-store',
  'content-security-policy': `${PAGE_CSP}; script-src 'self'`,
})

const ENGLISH = {
  quickExit: 'Quick exit',
  yourSafety: 'Your safety',
  leaveThisPage: 'Leave this page',
  twoPressesLeft: 'Press Shift 2 more times to leave',
  onePressLeft: 'Press Shift once more to leave',
  exitDescription: 'Opens Wikipedia in place of this page',
  deviceQuestion: 'Does somebody else use this device? How to clear your history',
  visibleHistory:
    'Somebody who uses your phone or computer can see which pages you opened. We store nothing on it, but your browser lists your visit.',
  howToClear:
    'To clear it: open the menu of your browser, choose History, and delete the visits to this site.',
  deleteOnlyThese: 'Delete only these visits. An empty history can look suspicious.',
  nextTime: 'Next time, use a private (incognito) window, or a phone that nobody else checks.',
  otherPages: 'After you leave, the Back button can still show other pages of this site. Clear them too.',
  leaveFast: 'To leave fast, press “Leave this page”.',
  shiftShortcut: 'You can also press the Shift key three times.',
} as const

const SPANISH: Readonly<Record<keyof typeof ENGLISH, string>> = {
  quickExit: 'Salida rápida',
  yourSafety: 'Su seguridad',
  leaveThisPage: 'Salir de esta página',
  twoPressesLeft: 'Presione Shift 2 veces más para salir',
  onePressLeft: 'Presione Shift una vez más para salir',
  exitDescription: 'Abre Wikipedia en lugar de esta página',
  deviceQuestion: '¿Otra persona usa este dispositivo? Cómo borrar el historial',
  visibleHistory:
    'Quien use su teléfono o su computadora puede ver qué páginas abrió usted. Nosotros no guardamos nada en el dispositivo, pero su navegador registra la visita.',
  howToClear:
    'Para borrarla: abra el menú de su navegador, elija Historial y borre las visitas a este sitio.',
  deleteOnlyThese: 'Borre solo estas visitas. Un historial vacío puede parecer sospechoso.',
  nextTime: 'La próxima vez, use una ventana privada (de incógnito) o un teléfono que nadie más revise.',
  otherPages:
    'Después de salir, el botón Atrás todavía puede mostrar otras páginas de este sitio. Bórrelas también.',
  leaveFast: 'Para salir rápido, presione “Salir de esta página”.',
  shiftShortcut: 'También puede presionar tres veces la tecla Shift.',
}

/**
 * Renders the quick exit, for the slot under the header. Its link works without scripts. With scripts, leaving also removes
 * the page from the browser's history, and three presses of Shift work like the link. The script fills the element with
 * `role="status"` after the first and the second press, and shows the hidden hint on Shift. Send the page with `LEAVE_HEADERS`.
 */
export function renderQuickExit(language: 'en' | 'es' = 'en'): Html {
  const words = language === 'es' ? SPANISH : ENGLISH
  return html`<aside class="leave" aria-label="${words.quickExit}">
<a href="${NEUTRAL_SITE}" rel="noreferrer nofollow" title="${words.exitDescription}">${words.leaveThisPage}</a>
<span role="status" data-one-more="${words.onePressLeft}" data-two-more="${words.twoPressesLeft}"></span>
</aside>
<aside class="risk" aria-label="${words.yourSafety}">
<details>
<summary>${words.deviceQuestion}</summary>
<ul>
<li>${words.leaveFast}<span hidden> ${words.shiftShortcut}</span></li>
<li>${words.visibleHistory}</li>
<li>${words.howToClear}</li>
<li>${words.otherPages}</li>
<li>${words.deleteOnlyThese}</li>
<li>${words.nextTime}</li>
</ul>
</details>
</aside>
${renderScriptElement(LEAVE_SCRIPT)}`
}

import { ATTORNEY_LISTS, EMERGENCY_LINES, RULES } from '@plainpath/domain'
import { PREPARE_FOR_ATTORNEY, REPLY_GUIDANCE } from './attorney-help.ts'
import { type Html, html } from './html.ts'
import { keepTogether } from './keep-together.ts'

/** The paths of the help page, by language. */
export const GET_HELP = { en: '/get-help', es: '/es/obtener-ayuda' } as const

/** The date of the Spanish translation. Later changes to the English text need a new translation. */
export const TRANSLATION_DATE = '2026-11-27'

const LEGAL_AID_URL = 'https://www.usa.gov/legal-aid'
const REPORT_SCAMS_URL = 'https://www.usa.gov/where-report-scams'
const CRISIS_URL = 'https://www.samhsa.gov/mental-health/988/faqs'
const FIND_HELP_GUIDE = '/guides/find-legal-help'
const AVOID_SCAMS_GUIDE = '/guides/avoid-scams'
const COURT_GUIDE = '/guides/removal-proceedings-basics'
const FAMILY_GUIDE = '/guides/vawa-basics'
const CRIME_GUIDE = '/guides/u-visa-basics'
const [COURT_LIST, ROSTERS] = ATTORNEY_LISTS
const {
  danger,
  crisis,
  'domestic-violence': family,
  trafficking,
  locator,
  detention,
  court,
} = EMERGENCY_LINES

/** The text of the help page in one language. Both languages have the same parts, in the same order. */
export interface HelpWords {
  readonly lang: 'en' | 'es'
  readonly title: string
  readonly description: string
  /** The texts of links to sections that a phone shows only after scrolling. */
  readonly jumps: { readonly detained: string; readonly hearing: string; readonly lawyers: string }
  readonly urgent: {
    readonly heading: string
    /** Advice before any of the calls. */
    readonly hint: string
    readonly lines: readonly {
      /** The fragment of this line's address, such as `detained`. Links on this and other pages lead to some of them. */
      readonly id: string
      /** When to call this line. */
      readonly situation: string
      /** Advice before this call. */
      readonly hint?: Html
      readonly phone: string
      /** More about this line, shown after the number. */
      readonly text?: Html
    }[]
  }
  readonly lawyers: {
    readonly heading: string
    /** Says who may give legal advice. */
    readonly advisers: Html
    readonly placesHeading: string
    /** Where to look for a lawyer, by the reader's situation. */
    readonly places: readonly { readonly situation: string; readonly text: Html }[]
    readonly callHeading: string
    readonly call: readonly Html[]
    readonly checkHeading: string
    readonly check: readonly Html[]
  }
  readonly bring: { readonly heading: string; readonly items: readonly string[] }
  readonly fraud: { readonly heading: string; readonly signs: readonly Html[]; readonly whatToDo: Html }
  readonly write: { readonly heading: string; readonly text: Html }
  /** Says where the official source of each statement is listed. */
  readonly sources: Html
}

export const ENGLISH: HelpWords = {
  lang: 'en',
  title: 'Get help',
  description:
    'Urgent phone lines, the official lists of free lawyers, what to bring, and how to spot a fraud.',
  jumps: { detained: 'Somebody detained', hearing: 'Court hearing', lawyers: 'Free lawyer' },
  urgent: {
    heading: 'If it is urgent',
    hint: 'Use a phone that nobody else checks.',
    lines: [
      {
        id: 'danger',
        situation: 'You are in danger now',
        phone: danger.phone,
      },
      {
        id: 'crisis',
        situation: 'You think about suicide, or worry that somebody does',
        phone: crisis.phone,
        text: html`You can call or text this number. A trained counselor answers, day and night, in English and Spanish. On calls, an interpreter can help in other languages. It is free. <a href="${CRISIS_URL}">About 988, from SAMHSA, a U.S. health agency</a>`,
      },
      {
        id: 'family',
        situation: 'Somebody in your family or home hurts, threatens or controls you',
        phone: family.phone,
        text: html`The National Domestic Violence Hotline is free and open day and night. <a href="${FAMILY_GUIDE}">Our guide on family violence</a>`,
      },
      {
        id: 'forced',
        situation: 'Somebody forces you to work, or keeps your papers',
        phone: trafficking.phone,
        text: html`The National Human Trafficking Hotline is free and open day and night. <a href="${CRIME_GUIDE}">Our guide for victims of a crime</a>`,
      },
      {
        id: 'detained',
        situation: 'Somebody is detained by immigration officers (ICE)',
        hint: html`Talk to a lawyer or an accredited representative today: <a href="#lawyers">how to find one</a>. This number is a line of the government (ICE):`,
        phone: detention.phone,
        text: html`You can also look for the person in the <a href="${locator.url}">ICE detainee locator</a>, a government site. <a href="${COURT_GUIDE}">Our guide on immigration court</a>`,
      },
      {
        id: 'hearing',
        situation: 'You have a hearing in immigration court, or think that you missed one',
        phone: court.phone,
        text: html`This is the line of the court. You can also look up the case <a href="${court.url}">online</a>. Have your ${keepTogether('A-Number')} ready. Do not skip a hearing. If you missed one, talk to a lawyer today.`,
      },
    ],
  },
  lawyers: {
    heading: 'Find a free or low-cost lawyer',
    advisers: html`Only two kinds of people may give you legal advice about immigration. One is an <strong>attorney</strong>, which means a lawyer. The other is an <strong>accredited representative</strong>: a person whom the U.S. Department of Justice approved, in a group that it also approved. A notary, a “notario” or a consultant may not, unless that person is also one of the two.`,
    placesHeading: 'Where to look',
    places: [
      {
        situation: 'If you have a case in immigration court',
        text: html`<a href="${COURT_LIST.url}">Free legal help, by immigration court</a>. Look for your court. Attorneys and groups on this list agree to give at least 50 hours of free help a year at that court. The list also names services that can refer you to a free lawyer.`,
      },
      {
        situation: 'For any question on immigration',
        text: html`<a href="${ROSTERS.url}">Recognized organizations and accredited representatives</a>. The groups are non-profits. They mostly help people with low incomes. Look at the date of the list.`,
      },
      {
        situation: 'For legal aid near you',
        text: html`<a href="${LEGAL_AID_URL}">USA.gov legal aid</a>. It leads to the Legal Services Corporation and LawHelp.org.`,
      },
    ],
    callHeading: 'When you call',
    call: [
      html`Say first if somebody is detained, if you have a court date or a deadline soon, or if you missed a hearing.`,
      html`You do not have to tell your whole story on the phone. You can wait until you know that the person is real.`,
    ],
    checkHeading: 'Before you pay',
    check: [
      html`Ask an attorney for the license, and write down the number. Ask the state bar if the license is valid.`,
      html`Look for an accredited representative on the <a href="${ROSTERS.url}">list of the Department of Justice</a>.`,
      html`Ask for a written contract, for receipts, and for a copy of each paper that is filed for you.`,
    ],
  },
  bring: { heading: 'What to bring', items: PREPARE_FOR_ATTORNEY },
  fraud: {
    heading: 'How to spot a fraud',
    signs: [
      html`The person promises a visa, a green card or a faster answer. Nobody can promise this.`,
      html`The person says they are from USCIS and asks you to pay by phone or ${keepTogether('e-mail')}.`,
      html`The person asks you to sign an empty form, or a form with something false in it.`,
      html`The person wants to keep your passport or other original papers.`,
      html`The person gives you no receipt or no copies.`,
      html`The person sells you a form. Empty forms are free on the USCIS site.`,
      html`A website says that it is the government, but its address does not end in “.gov”.`,
    ],
    whatToDo: html`If somebody cheated you, it is not your fault. <a href="${AVOID_SCAMS_GUIDE}">Our guide on scams</a> says what to do then, and USA.gov says <a href="${REPORT_SCAMS_URL}">where to report it</a>.`,
  },
  write: {
    heading: 'Write to our staff',
    text: html`${keepTogether(REPLY_GUIDANCE.expected)} Do not wait for our answer if it is urgent.`,
  },
  sources: html`Our guides <a href="${FIND_HELP_GUIDE}">Find legal help</a> and <a href="${AVOID_SCAMS_GUIDE}">Avoid scams</a> list the official source of each statement on this page but those about 988, and the day on which we read it.`,
}

/** A plain translation of `ENGLISH`, sentence by sentence. It adds that staff can read only English. */
export const SPANISH: HelpWords = {
  lang: 'es',
  title: 'Obtener ayuda',
  description:
    'Teléfonos para urgencias, las listas oficiales de abogados gratuitos, qué llevar y cómo reconocer un fraude.',
  jumps: { detained: 'Persona detenida', hearing: 'Audiencia', lawyers: 'Abogado gratuito' },
  urgent: {
    heading: 'Si es urgente',
    hint: 'Use un teléfono que nadie más revise.',
    lines: [
      {
        id: 'danger',
        situation: 'Usted está en peligro en este momento',
        phone: danger.phone,
      },
      {
        id: 'crisis',
        situation: 'Piensa en el suicidio, o le preocupa que alguien lo haga',
        phone: crisis.phone,
        text: html`Puede llamar o enviar un mensaje de texto a este número. Le atiende un consejero capacitado, las 24 horas del día, en español y en inglés. En las llamadas, un intérprete puede ayudar en otros idiomas. Es gratuito. <a href="${CRISIS_URL}" hreflang="en">Sobre el 988, de SAMHSA, una agencia de salud de los EE. UU. (en inglés)</a>`,
      },
      {
        id: 'family',
        situation: 'Sufre maltrato, amenazas o control de alguien de su familia o de su hogar',
        phone: family.phone,
        text: html`La Línea Nacional contra la Violencia Doméstica (National Domestic Violence Hotline) es gratuita y atiende las 24 horas del día. <a href="${FAMILY_GUIDE}" hreflang="en">Nuestra guía sobre la violencia familiar (en inglés)</a>`,
      },
      {
        id: 'forced',
        situation: 'Alguien le obliga a trabajar, o no le devuelve sus documentos',
        phone: trafficking.phone,
        text: html`La Línea Nacional contra la Trata de Personas (National Human Trafficking Hotline) es gratuita y atiende las 24 horas del día. <a href="${CRIME_GUIDE}" hreflang="en">Nuestra guía para víctimas de un delito (en inglés)</a>`,
      },
      {
        id: 'detained',
        situation: 'Los agentes de inmigración (ICE) detuvieron a una persona',
        hint: html`Hable hoy mismo con un abogado o con un representante acreditado: <a href="#lawyers">cómo encontrarlo</a>. Este número es una línea del gobierno (ICE):`,
        phone: detention.phone,
        text: html`También puede buscar a la persona en el <a href="${locator.url}">localizador de detenidos de ICE</a>, un sitio del gobierno. <a href="${COURT_GUIDE}" hreflang="en">Nuestra guía sobre la corte de inmigración (en inglés)</a>`,
      },
      {
        id: 'hearing',
        situation: 'Tiene una audiencia en la corte de inmigración, o cree que faltó a una',
        phone: court.phone,
        text: html`Es la línea de la corte. También puede consultar el caso <a href="${court.url}">en internet</a>. Tenga a mano su número de registro de extranjero (${keepTogether('A-Number')}). No falte a ninguna audiencia. Si faltó a una, hable hoy mismo con un abogado.`,
      },
    ],
  },
  lawyers: {
    heading: 'Cómo encontrar un abogado gratuito o de bajo costo',
    advisers: html`Solo dos tipos de personas pueden darle asesoría legal sobre inmigración. Uno es el <strong>abogado</strong> (en inglés, “attorney” o “lawyer”). El otro es el <strong>representante acreditado</strong>: una persona autorizada por el Departamento de Justicia de los EE. UU., en una organización que también está autorizada. Un notario público, un “notario” o un consultor no puede hacerlo, a menos que también sea abogado o representante acreditado.`,
    placesHeading: 'Dónde buscar',
    places: [
      {
        situation: 'Si tiene un caso en la corte de inmigración',
        text: html`<a href="${COURT_LIST.url}" hreflang="en">Ayuda legal gratuita, por corte de inmigración</a>. Busque su corte. Los abogados y las organizaciones de esta lista se comprometen a dar allí al menos 50 horas de ayuda gratuita al año. La lista también incluye servicios que pueden ponerle en contacto con un abogado gratuito.`,
      },
      {
        situation: 'Para cualquier pregunta sobre inmigración',
        text: html`<a href="${ROSTERS.url}" hreflang="en">Organizaciones reconocidas y representantes acreditados</a>. Son organizaciones sin fines de lucro. Ayudan sobre todo a personas de bajos ingresos. Fíjese en la fecha de la lista.`,
      },
      {
        situation: 'Para ayuda legal cerca de usted',
        text: html`<a href="${LEGAL_AID_URL}" hreflang="en">Ayuda legal en USA.gov</a>. Desde allí puede llegar a Legal Services Corporation y a LawHelp.org.`,
      },
    ],
    callHeading: 'Cuando llame',
    call: [
      html`Diga primero si hay una persona detenida, si pronto tiene una cita en la corte o se le vence un plazo, o si faltó a una audiencia.`,
      html`No es necesario que cuente toda su historia por teléfono. Puede esperar hasta saber que la persona es quien dice ser.`,
    ],
    checkHeading: 'Antes de pagar',
    check: [
      html`Pídale al abogado su licencia y anote el número. Pregunte al colegio de abogados del estado (“state bar”) si está vigente.`,
      html`Busque al representante acreditado en la <a href="${ROSTERS.url}" hreflang="en">lista del Departamento de Justicia</a>.`,
      html`Pida un contrato por escrito, recibos y una copia de cada documento que se presente en su nombre.`,
    ],
  },
  bring: {
    heading: 'Qué llevar',
    items: [
      'Todas las cartas de USCIS, de ICE o de una corte de inmigración, con su fecha.',
      'Copias de los formularios que se presentaron y sus recibos.',
      'Pasaportes, visas y registros de entrada, como el Formulario I-94.',
      'Una lista de fechas: de cada entrada, de cada salida y de cada dirección donde vivió.',
      'Los documentos de cada arresto y de cada caso en una corte, aunque sean antiguos o estén cerrados.',
      'Sus preguntas, por escrito.',
    ],
  },
  fraud: {
    heading: 'Cómo reconocer un fraude',
    signs: [
      html`La persona le promete una visa, una tarjeta verde (“green card”) o una respuesta más rápida. Nadie puede prometer eso.`,
      html`La persona dice que es de USCIS y le pide que pague por teléfono o por correo electrónico.`,
      html`La persona le pide que firme un formulario en blanco, o uno que dice algo falso.`,
      html`La persona quiere quedarse con su pasaporte o con otros documentos originales.`,
      html`La persona no le da recibo, o no le da copias.`,
      html`La persona le vende un formulario. Los formularios en blanco son gratuitos en el sitio web de USCIS.`,
      html`Un sitio web dice que es del gobierno, pero su dirección no termina en “.gov”.`,
    ],
    whatToDo: html`Si le engañaron, no es su culpa. <a href="${AVOID_SCAMS_GUIDE}" hreflang="en">Nuestra guía sobre estafas (en inglés)</a> explica qué hacer, y USA.gov indica <a href="${REPORT_SCAMS_URL}" hreflang="en">dónde denunciarlo</a>.`,
  },
  write: {
    heading: 'Escriba a nuestro equipo',
    text: html`Una persona lee cada mensaje. Solo podemos leer mensajes en inglés. Respondemos por correo electrónico, normalmente en un plazo de ${RULES.replyWorkingDays} días hábiles, y primero los mensajes urgentes. No podemos dar asesoría legal. Si es urgente, no espere nuestra respuesta.`,
  },
  sources: html`Nuestras guías <a href="${FIND_HELP_GUIDE}" hreflang="en">Find legal help</a> y <a href="${AVOID_SCAMS_GUIDE}" hreflang="en">Avoid scams</a> (en inglés) indican la fuente oficial de cada afirmación de esta página, salvo las que tratan del 988, y el día en que la leímos.`,
}

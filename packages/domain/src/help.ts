import { z } from 'zod'

/** A place where people find help that we cannot give. An emergency line may have only a phone number. */
export const Help = z.object({
  title: z.string().min(1),
  url: z.url().optional(),
  phone: z.string().min(1).optional(),
})
export type Help = Readonly<z.infer<typeof Help>>

/** Formats help as a line of plain text. The URL comes last, because programs could interpret text after it as part of the URL. */
export const formatHelpLine = ({ title, phone, url }: Help): string =>
  [title, phone, url].filter((part) => part !== undefined).join(': ')

/** The Justice Department's lists of attorneys and representatives. EOIR is its office for the immigration courts. */
export const ATTORNEY_LISTS = [
  {
    title: 'Free legal help, by immigration court',
    url: 'https://www.justice.gov/eoir/list-pro-bono-legal-service-providers',
    about: 'Attorneys and groups that give some of their time for free.',
  },
  {
    title: 'Recognized organizations and accredited representatives',
    url: 'https://www.justice.gov/eoir/recognition-accreditation-roster-reports',
    about:
      'Non-profit groups, and people in them who are not attorneys but may give legal advice on immigration.',
  },
] as const

/** Phone lines and websites for emergencies, detention and court hearings. */
export const EMERGENCY_LINES = {
  danger: { title: 'If you are in danger now', phone: '911' },
  crisis: { title: '988 Suicide & Crisis Lifeline (call or text)', phone: '988' },
  'domestic-violence': { title: 'National Domestic Violence Hotline', phone: '1-800-799-7233' },
  trafficking: { title: 'National Human Trafficking Hotline', phone: '1-888-373-7888' },
  locator: { title: 'ICE detainee locator', url: 'https://locator.ice.gov/odls/#/search' },
  detention: {
    title: 'To find a person whom ICE holds (a government line)',
    url: 'https://www.ice.gov/contact/ero',
    phone: '1-888-351-4024',
  },
  court: {
    title: 'Your next hearing date, from the immigration court (you need your A-Number)',
    url: 'https://acis.eoir.justice.gov/en/',
    phone: '1-800-898-7180',
  },
} as const satisfies Record<string, Help>

/** `ATTORNEY_LISTS` in the form of `Help`. */
export const ATTORNEY_HELP: readonly Help[] = ATTORNEY_LISTS.map(({ title, url }) => ({ title, url }))

/** The help for a person whose needs we do not know, emergency lines first. It lacks only the detainee locator. */
export const ALL_HELP: readonly Help[] = [
  ...(['danger', 'crisis', 'domestic-violence', 'trafficking', 'detention', 'court'] as const).map(
    (name) => EMERGENCY_LINES[name],
  ),
  ...ATTORNEY_HELP,
]

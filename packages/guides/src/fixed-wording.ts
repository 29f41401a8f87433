/** Closes every guide, word for word, and is the API's `disclaimer`. */
export const DISCLAIMER =
  'This guide is information, not legal advice. It cannot tell you what to do in your own case. We are not a law firm, and we are not the government.'

/** The last two sections of every guide, in this order. */
export const CHANGES_HEADING = 'What changes often: check here'
export const ATTORNEY_HEADING = 'When to talk to an attorney'

/** The two official ways to find an attorney or an accredited representative. */
export const ATTORNEY_LISTS = [
  'https://www.justice.gov/eoir/list-pro-bono-legal-service-providers',
  'https://www.justice.gov/eoir/recognition-accreditation-roster-reports',
] as const

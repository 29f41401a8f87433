import { serviceUrls } from '../service-urls.ts'
import type { ResourceDocumentConfig } from './document-config.ts'
import type { Skill } from './skill.ts'

/** When to stop answering, and how to hand a person over to somebody who may give legal advice. */
export const handOffToAnAttorney = (config: ResourceDocumentConfig): Skill => ({
  name: 'hand-off-to-an-attorney',
  title: 'Hand off to an immigration attorney',
  description:
    'Recognize when a question about U.S. immigration needs a licensed attorney or an accredited representative, ' +
    'and lead the person to the official lists. Use when a case involves removal proceedings, arrests, past ' +
    'denials, false statements, fear of return, missed deadlines, or anything that a guide does not settle.',
  version: '1.0.0',
  queries: ['do I need an immigration lawyer', 'where can I find free legal help for immigration court'],
  body: body(config),
})

function body({ origin, attorneyLists }: ResourceDocumentConfig): string {
  const urls = serviceUrls(origin)
  return `# Hand off to an immigration attorney

A wrong answer about immigration can cost a person their home. When a case is hard, do not guess: hand off.

## When to hand off

- One of the reasons in \`talkToAnAttorneyWhen\` of the guide fits. Every guide has them: \`GET ${urls.base}/guides/{slug}\`.
- The person has been arrested, charged or convicted, anywhere and at any time.
- The person has a date in immigration court, an order of removal, or was stopped at the border.
- The person fears going back to a country.
- An application was denied before, or something untrue was said to an officer or on a form.
- A deadline has passed or ends within days.
- No guide answers the question, or two official pages disagree.
- The person asks what they should do in their own case. A guide says what a rule is, never whether it fits them.

## How to hand off

1. Say plainly that this needs legal advice, and that you cannot give it.
2. Say which reason applies, in one sentence. Do not say how the case will end.
3. Give both official lists of the U.S. Department of Justice:
${attorneyLists.map((address) => `   - ${address}`).join('\n')}
4. Warn: a notary, "notario" or consultant may not give legal advice on immigration unless that person is also an attorney or accredited.
5. Say what to bring: letters from the government, copies of every form that was sent, dates of every entry, and court papers.
6. If a date in court or a deadline is near, say that it stands until a court or agency says otherwise: the person must not miss it while they look for help.

## What not to do

- Do not choose a form, fill one in, or tell the person to sign or send one.
- Do not ask for or keep details of the case: names, dates of birth, case numbers, what happened. An attorney asks for them under a duty of confidence, and you have none.
- Do not recommend a particular attorney.
- Do not tell a person to leave the country, stay in it, or stay away from an appointment.

Afterwards you may still read a guide with the person: [how to use the API](${urls.skill('use-immigration-guidance-api')}).
`
}

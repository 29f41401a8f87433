import { ATTORNEY_LISTS } from '@plainpath/domain'
import { ATTORNEY_HEADING, CHANGES_HEADING, DISCLAIMER } from '../src/guide-body.ts'
import type { PackagedGuide } from '../src/packaged-guide.ts'

/** A small guide that passes every check. Tests override members of it. */
export const EXAMPLE_GUIDE: PackagedGuide = {
  slug: 'example',
  title: 'An example',
  summary: 'How to request a document.',
  audience: 'Anyone who needs the document.',
  language: 'en',
  status: 'published',
  version: 1,
  updated: '2026-06-26',
  reviewed: null,
  reviewedBy: null,
  talkToAnAttorneyWhen: ['You have a hearing.'],
  disclaimer: DISCLAIMER,
  history: [],
  sources: [
    {
      id: 'form',
      title: 'The form',
      url: 'https://www.uscis.gov/i-90',
      agency: 'US Citizenship and Immigration Services',
      kind: 'form-instructions',
      checked: '2026-06-26',
      checkedBy: 'a copy of that day',
    },
  ],
  // Tests in check-guides.test.ts replace exact sentences of this text.
  body: `You ask for it on a form. [^form]

## What to do

You need two things:

- The form. [^form]
- A pen. You can read more in [this guide](/guides/example). [^form]

## ${CHANGES_HEADING}

- What it costs: [fee schedule](https://www.uscis.gov/g-1055).

## ${ATTORNEY_HEADING}

Talk to an attorney if this is true:

- You have a hearing.

You can find help here:

- [Free help](${ATTORNEY_LISTS[0].url})
- [Accredited representatives](${ATTORNEY_LISTS[1].url})

${DISCLAIMER}`,
}

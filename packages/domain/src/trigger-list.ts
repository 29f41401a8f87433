import { z } from 'zod'
import { TriggerId, URGENCIES } from './trigger.ts'

const ListedTrigger = z.object({
  id: TriggerId.meta({ description: 'Its name in `facts` of `POST /answers`.' }),
  urgency: z.enum(URGENCIES),
  why: z.string().min(1).meta({ description: 'Why an attorney is needed.' }),
  ask: z
    .string()
    .min(1)
    .meta({ description: 'The question, answered with yes or no, that decides whether it applies.' }),
  source: z.object({ title: z.string().min(1), url: z.url() }),
  version: z
    .string()
    .min(1)
    .meta({ description: 'Changes when anything of the trigger does, also the words by which it is found.' }),
})

/** The response of `GET /triggers`. */
export const TriggerList = z.object({
  triggers: z.array(ListedTrigger).meta({ description: 'The most urgent first.' }),
})
export type TriggerList = z.infer<typeof TriggerList>

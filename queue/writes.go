package queue

import "context"

// write offers settlements of one action to Redis once. Its results are as long as the batch, also on an error.
type write func(ctx context.Context, batch []*settlement) ([]SettleResult, error)

// writes puts groups of settlements into the Store's words. All settlements of a call have one action.
type writes struct {
	store  *Store
	keeper *Keeper
}

func (w writes) complete(ctx context.Context, batch []*settlement) ([]SettleResult, error) {
	list := make([]Completion, len(batch))
	leases := w.keeper.beginWrite(batch)
	for i, one := range batch {
		list[i] = Completion{Text: one.claim.text, Held: leases[i].held, Next: leases[i].next, UUID: one.uuid, Sole: leases[i].sole}
	}
	return w.store.Complete(ctx, list)
}

func (w writes) requeue(ctx context.Context, batch []*settlement) ([]SettleResult, error) {
	list := make([]Requeueing, len(batch))
	leases := w.keeper.beginWrite(batch)
	for i, one := range batch {
		list[i] = Requeueing{
			Text: one.claim.text, Held: leases[i].held, Next: leases[i].next, UUID: one.uuid,
			NewText: one.newText, Delay: one.delay, ToReady: one.action == GiveBack,
			Expired: one.skipGone,
		}
	}
	return w.store.Requeue(ctx, list)
}

func (w writes) bury(ctx context.Context, batch []*settlement) ([]SettleResult, error) {
	list := make([]Burial, len(batch))
	leases := w.keeper.beginWrite(batch)
	for i, one := range batch {
		list[i] = Burial{
			Text: one.claim.text, Held: leases[i].held, Next: leases[i].next, UUID: one.uuid,
			Record: one.record, Expired: one.skipGone,
		}
	}
	return w.store.Bury(ctx, list)
}

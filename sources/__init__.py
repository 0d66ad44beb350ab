"""Listen and speak: each platform's messages become notifications, and outbox rows become messages there."""

// Methods
